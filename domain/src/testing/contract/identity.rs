//! Tenants, projects, people, keys and sessions.

use std::time::Duration;

use futures_util::future::join_all;

use super::assert_conflict;
use crate::access::{ApiKey, NewApiKey, PrincipalKind, Project, ProjectRole, SignInCode, Tenant, Viewer};
use crate::ctx::{PageRequest, Principal};
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

fn api_key(samples: &Samples, home: &Home, secret_hash: &str) -> NewApiKey {
    let key = ApiKey {
        id: samples.api_key_id(),
        tenant_id: home.tenant.id,
        project_id: home.project.id,
        principal_id: samples.principal_id(),
        name: "CI ключ".to_owned(),
        prefix: "vk_abc".to_owned(),
        created_at: AT,
        expires_at: Some(AT.plus(Duration::from_micros(1))),
        revoked_at: None,
    };
    NewApiKey { key, secret_hash: secret_hash.to_owned(), role: ProjectRole::Editor }
}

/// A tenant is made once, whole; its owner sees it.
pub async fn a_tenant_is_made_once(ports: &Ports) {
    let samples = Samples::new(1);
    assert_eq!(ports.identity.first_owner().await.unwrap(), None);
    let home = samples.home(ports).await;
    assert_eq!(ports.identity.first_owner().await.unwrap(), Some(home.principal()));
    let other = Project { id: samples.project_id(), slug: "other".to_owned(), ..home.project.clone() };
    assert_conflict(ports.identity.create_tenant(&home.tenant, &other, samples.principal_id(), "Eve").await);
    assert_eq!(
        ports.identity.projects(home.scope(), &[home.project.id, other.id]).await.unwrap(),
        std::slice::from_ref(&home.project)
    );
    let viewer = Viewer {
        id: home.owner,
        kind: PrincipalKind::User,
        name: "Ada".to_owned(),
        tenant: Tenant { ..home.tenant.clone() },
        default_project: Some(home.project.clone()),
    };
    assert_eq!(ports.identity.viewer(home.principal()).await.unwrap(), Some(viewer));
    let page = ports.identity.list_projects(home.principal(), PageRequest { first: 10, after: None }).await.unwrap();
    assert_eq!(page.rows.iter().map(|(_, project)| project).collect::<Vec<_>>(), [&home.project]);
    assert!(!page.has_next);
}

/// Nobody is seen through another tenant.
pub async fn a_foreign_tenant_sees_nobody(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let stranger = samples.home(ports).await;
    assert_eq!(ports.identity.first_owner().await.unwrap(), Some(home.principal()));
    let mixed = Principal { tenant_id: stranger.tenant.id, ..home.principal() };
    assert_eq!(ports.identity.viewer(mixed).await.unwrap(), None);
    assert_eq!(ports.identity.projects(stranger.scope(), &[home.project.id]).await.unwrap(), []);
    let page = PageRequest { first: 10, after: None };
    assert_eq!(ports.identity.list_projects(mixed, page).await.unwrap().rows, []);
    let new = api_key(&samples, &home, &"a".repeat(64));
    ports.identity.create_api_key(&new).await.unwrap();
    assert_eq!(ports.identity.api_key(stranger.scope(), new.key.id).await.unwrap(), None);
    assert_eq!(ports.identity.revoke_api_key(stranger.scope(), new.key.id, AT).await.unwrap(), None);
    assert_eq!(ports.identity.api_key(home.scope(), new.key.id).await.unwrap().unwrap().revoked_at, None);
}

/// A key is found by its secret's hash and by its id, and is revoked once.
pub async fn a_key_is_found_and_revoked(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let hash = "a".repeat(64);
    let new = api_key(&samples, &home, &hash);
    ports.identity.create_api_key(&new).await.unwrap();
    assert_eq!(ports.identity.api_key_by_hash(&hash).await.unwrap(), Some(new.key.clone()));
    assert_eq!(ports.identity.api_key_by_hash(&"A".repeat(64)).await.unwrap(), None);
    assert_eq!(ports.identity.api_key(home.scope(), new.key.id).await.unwrap(), Some(new.key.clone()));

    let bearer = Principal { id: new.key.principal_id, tenant_id: home.tenant.id, project_id: Some(home.project.id) };
    let viewer = ports.identity.viewer(bearer).await.unwrap().unwrap();
    assert_eq!((viewer.kind, viewer.default_project), (PrincipalKind::ApiKey, Some(home.project.clone())));

    let first = ports.identity.revoke_api_key(home.scope(), new.key.id, AT).await.unwrap().unwrap();
    assert_eq!(first.revoked_at, Some(AT));
    let later = AT.plus(Duration::from_secs(1));
    let again = ports.identity.revoke_api_key(home.scope(), new.key.id, later).await.unwrap().unwrap();
    assert_eq!(again, first);
    assert_conflict(ports.identity.create_api_key(&api_key(&samples, &home, &hash)).await);
    assert_eq!(ports.identity.revoke_api_key(home.scope(), samples.api_key_id(), AT).await.unwrap(), None);
}

/// A code signs in once, before it ends, however many try it at one time.
pub async fn a_code_signs_in_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let ends = AT.plus(Duration::from_secs(60));
    let code = |hash: &str| SignInCode {
        code_hash: hash.repeat(64),
        principal_id: home.owner,
        tenant_id: home.tenant.id,
        expires_at: ends,
    };
    ports.identity.add_sign_in_code(&code("a")).await.unwrap();
    ports.identity.add_sign_in_code(&code("b")).await.unwrap();
    let later = AT.plus(Duration::from_secs(3600));
    let tokens: Vec<String> = (0..10).map(|n| format!("{n:064}")).collect();
    let code_hash = "a".repeat(64);
    let tries = tokens.iter().map(|token| ports.identity.redeem_sign_in_code(&code_hash, AT, token, later));
    let sessions: Vec<_> = join_all(tries).await.into_iter().filter_map(Result::unwrap).collect();
    let [session] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!((session.principal_id, session.tenant_id, session.expires_at), (home.owner, home.tenant.id, later));
    let found = ports.identity.session_by_hash(&session.token_hash).await.unwrap().unwrap();
    assert_eq!((found.principal_id, found.expires_at), (home.owner, later));

    let ended = ports.identity.redeem_sign_in_code(&"b".repeat(64), ends, &"f".repeat(64), later).await.unwrap();
    assert!(ended.is_none());
    let unknown = ports.identity.redeem_sign_in_code(&"c".repeat(64), AT, &"f".repeat(64), later).await.unwrap();
    assert!(unknown.is_none());
    assert!(ports.identity.session_by_hash(&"f".repeat(64)).await.unwrap().is_none());
}
