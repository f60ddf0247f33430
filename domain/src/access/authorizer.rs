//! The one place that says yes or no.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::{
    Context, Decision, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicySet, Request, RestrictedExpression,
    Schema, ValidationMode, Validator,
};

use super::model::{AccessFacts, Action, PrincipalKind, Target};
use super::ports::AccessStore;
use crate::ctx::Principal;
use crate::error::StoreError;

const POLICIES: &str = include_str!("policies/vitrine.cedar");
const SCHEMA: &str = include_str!("policies/vitrine.cedarschema");

/// Why something was not permitted.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No policy permits it.
    #[error("not permitted")]
    Denied,
    /// The facts could not be read; without them nothing is permitted.
    #[error("access could not be checked")]
    Store(#[from] StoreError),
}

/// The policies that come with the program do not fit together; a fault of ours, found at the start.
#[derive(Debug, thiserror::Error)]
#[error("the access policies are not valid: {0}")]
pub struct InvalidPolicies(String);

/// Answers every question about access, deny by default.
pub struct Authorizer {
    store: Arc<dyn AccessStore>,
    engine: cedar_policy::Authorizer,
    policies: PolicySet,
    principal_type: EntityTypeName,
    target_type: EntityTypeName,
    action_type: EntityTypeName,
}

impl Authorizer {
    /// Reads and validates the policies; facts come from this store.
    pub fn new(store: Arc<dyn AccessStore>) -> Result<Self, InvalidPolicies> {
        let invalid = |error: &dyn std::fmt::Display| InvalidPolicies(error.to_string());
        let policies = PolicySet::from_str(POLICIES).map_err(|error| invalid(&error))?;
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| invalid(&error))?;
        let validation = Validator::new(schema).validate(&policies, ValidationMode::Strict);
        if !validation.validation_passed() {
            return Err(invalid(&validation));
        }
        let name = |name: &str| EntityTypeName::from_str(name).map_err(|error| invalid(&error));
        Ok(Self {
            store,
            engine: cedar_policy::Authorizer::new(),
            policies,
            principal_type: name("Principal")?,
            target_type: name("Target")?,
            action_type: name("Action")?,
        })
    }

    /// Permits, or says why not. A fault on the way denies.
    pub async fn authorize(&self, principal: &Principal, action: Action, target: &Target) -> Result<(), AccessError> {
        let facts = self.store.facts(principal.id, action, target).await?.ok_or(AccessError::Denied)?;
        match self.decide(principal, action, target, facts) {
            Some(Decision::Allow) => Ok(()),
            Some(Decision::Deny) | None => {
                tracing::info!(
                    principal.id = %principal.id, action = action.as_str(), project.id = %target.project_id,
                    "access denied"
                );
                Err(AccessError::Denied)
            }
        }
    }

    fn decide(&self, principal: &Principal, action: Action, target: &Target, facts: AccessFacts) -> Option<Decision> {
        let text = |text: String| RestrictedExpression::new_string(text);
        let who = uid(&self.principal_type, &principal.id.to_string());
        let what = match target.resource_id {
            Some(resource) => uid(&self.target_type, &resource.to_string()),
            None => uid(&self.target_type, &target.project_id.to_string()),
        };
        let principal_attributes = HashMap::from([
            ("tenant".to_owned(), text(principal.tenant_id.to_string())),
            ("kind".to_owned(), text(kind_name(facts.kind).to_owned())),
        ]);
        let target_attributes = HashMap::from([
            ("tenant".to_owned(), text(target.tenant_id.to_string())),
            ("project".to_owned(), text(target.project_id.to_string())),
        ]);
        let entities = Entities::from_entities(
            [
                Entity::new(who.clone(), principal_attributes, [].into()).ok()?,
                Entity::new(what.clone(), target_attributes, [].into()).ok()?,
            ],
            None,
        )
        .ok()?;
        let role = facts.role.map(|role| ("role".to_owned(), text(role.as_str().to_owned())));
        let grant = ("hasGrant".to_owned(), RestrictedExpression::new_bool(facts.has_grant));
        let context = Context::from_pairs(role.into_iter().chain([grant])).ok()?;
        let request = Request::new(who, uid(&self.action_type, action.as_str()), what, context, None).ok()?;
        Some(self.engine.is_authorized(&request, &self.policies, &entities).decision())
    }
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

const fn kind_name(kind: PrincipalKind) -> &'static str {
    match kind {
        PrincipalKind::User => "USER",
        PrincipalKind::ApiKey => "API_KEY",
        PrincipalKind::ServiceIdentity => "SERVICE_IDENTITY",
    }
}
