//! Facts and grants.

use futures_util::future::join_all;

use super::assert_conflict;
use crate::access::{AccessFacts, Action, Grant, PrincipalKind, ProjectRole, ServiceIdentity, Target};
use crate::testing::{Ports, Samples};

/// Facts are the role in the target's project and the grant for exactly this action on exactly this resource.
pub async fn facts_are_exact(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let agent = samples.resource_id();
    let new = ServiceIdentity { principal_id: samples.principal_id(), agent_id: agent };
    let identity = ports.access.ensure_service_identity(home.scope(), new).await.unwrap();
    let resource_id = samples.resource_id();
    let target = Target { tenant_id: home.tenant.id, project_id: home.project.id, resource_id: Some(resource_id) };
    let grant =
        Grant { tenant_id: home.tenant.id, principal_id: identity.principal_id, action: Action::Use, resource_id };
    let facts = async |action, target| ports.access.facts(identity.principal_id, action, &target).await.unwrap();
    let without = AccessFacts { kind: PrincipalKind::ServiceIdentity, role: None, has_grant: false };
    let with = AccessFacts { has_grant: true, ..without };

    assert_eq!(facts(Action::Use, target).await, Some(without));
    ports.access.grant(grant).await.unwrap();
    ports.access.grant(grant).await.unwrap();
    assert_eq!(facts(Action::Use, target).await, Some(with));
    assert_eq!(facts(Action::View, target).await, Some(without));
    assert_eq!(facts(Action::Use, Target { resource_id: Some(agent), ..target }).await, Some(without));
    assert_eq!(facts(Action::Use, Target { resource_id: None, ..target }).await, Some(without));
    assert!(ports.access.revoke(grant).await.unwrap());
    assert!(!ports.access.revoke(grant).await.unwrap());
    assert_eq!(facts(Action::Use, target).await, Some(without));
}

/// A role holds in its project, and a new one stands in place of the old one.
pub async fn roles_hold_in_their_project(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let target = Target { tenant_id: home.tenant.id, project_id: home.project.id, resource_id: None };
    let role = async |target| ports.access.facts(home.owner, Action::View, &target).await.unwrap().unwrap().role;
    assert_eq!(role(target).await, Some(ProjectRole::Owner));
    ports.identity.set_role(home.scope(), home.owner, home.project.id, ProjectRole::Viewer).await.unwrap();
    assert_eq!(role(target).await, Some(ProjectRole::Viewer));
    assert_eq!(role(Target { project_id: samples.project_id(), ..target }).await, None);
    let nowhere = ports.identity.set_role(home.scope(), home.owner, samples.project_id(), ProjectRole::Owner).await;
    assert_conflict(nowhere);
}

/// A principal of another tenant, or of none, has no facts; a grant to it is refused.
pub async fn strangers_have_no_facts(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let stranger = samples.home(ports).await;
    let target = Target { tenant_id: home.tenant.id, project_id: home.project.id, resource_id: None };
    for principal in [stranger.owner, samples.principal_id()] {
        assert_eq!(ports.access.facts(principal, Action::View, &target).await.unwrap(), None);
        let resource_id = samples.resource_id();
        let grant = Grant { tenant_id: home.tenant.id, principal_id: principal, action: Action::Use, resource_id };
        assert_conflict(ports.access.grant(grant).await);
    }
}

/// An agent has one service identity, however many ask for it at one time.
pub async fn an_agent_has_one_service_identity(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let agent_id = samples.resource_id();
    assert_eq!(ports.access.service_identity(home.scope(), agent_id).await.unwrap(), None);
    let asked: Vec<_> = (0..10).map(|_| ServiceIdentity { principal_id: samples.principal_id(), agent_id }).collect();
    let found = join_all(asked.iter().map(|new| ports.access.ensure_service_identity(home.scope(), *new))).await;
    let found: Vec<ServiceIdentity> = found.into_iter().map(Result::unwrap).collect();
    assert!(found.iter().all(|identity| *identity == found[0]), "{found:?}");
    assert_eq!(ports.access.service_identity(home.scope(), agent_id).await.unwrap(), Some(found[0]));
    let stranger = samples.home(ports).await;
    assert_eq!(ports.access.service_identity(stranger.scope(), agent_id).await.unwrap(), None);
}
