//! Resources and their versions.

use std::time::Duration;

use futures_util::future::join_all;

use super::assert_conflict;
use crate::artifact::sha256_hex;
use crate::budget::{Limits, WarningLevels};
use crate::clock::Timestamp;
use crate::ctx::PageRequest;
use crate::ids::ResourceId;
use crate::resource::{
    AgentSpec, CredentialSpec, LoopPolicy, NewVersion, Resource, ResourceKind, SealedSecret, Spec, VersionState,
};
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

fn resource(samples: &Samples, home: &Home, kind: ResourceKind, slug: &str) -> Resource {
    Resource {
        id: samples.resource_id(),
        tenant_id: home.tenant.id,
        project_id: home.project.id,
        kind,
        slug: slug.to_owned(),
        name: "Prüfer \u{1F980}".to_owned(),
        archived_at: None,
        created_at: AT,
    }
}

fn version(samples: &Samples, resource_id: ResourceId, state: VersionState, instructions: &str) -> NewVersion {
    let spec = AgentSpec {
        instructions: instructions.to_owned(),
        model_id: samples.resource_id(),
        fallback_model_ids: vec![samples.resource_id(), samples.resource_id()],
        sandbox_profile_id: None,
        tools: vec!["run_python".to_owned()],
        limits: Limits::default(),
        loop_policy: LoopPolicy::default(),
        warning_levels: WarningLevels::new(vec![33, 66]),
    };
    NewVersion { id: samples.version_id(), resource_id, state, spec: Spec::Agent(spec), created_at: AT }
}

fn later(micros: u64) -> Timestamp {
    AT.plus(Duration::from_micros(micros))
}

/// A resource comes back as it was made, and its first version has number 1 and the digest of what it says.
pub async fn a_resource_reads_back_equal(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let made = resource(&samples, &home, ResourceKind::Agent, "auditor");
    let long = "x\u{0}é".repeat(30_000);
    let first = version(&samples, made.id, VersionState::Published, &long);
    let stored = ports.resources.create(&made, &first).await.unwrap();
    assert_eq!((stored.number, stored.state, stored.published_at), (1, VersionState::Published, Some(AT)));
    assert_eq!(stored.digest, sha256_hex(&serde_json::to_vec(&first.spec).unwrap()));
    assert_eq!(stored.spec, first.spec);
    assert_eq!(ports.resources.resources(home.scope(), &[made.id]).await.unwrap(), [made]);
    assert_eq!(ports.resources.versions(home.scope(), &[first.id]).await.unwrap(), [stored]);
}

/// A slug is taken once in a project and kind; a refused resource leaves nothing.
pub async fn a_slug_is_taken_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let other_home = samples.home(ports).await;
    let create = async |made: Resource| {
        let sealed = SealedSecret("v1.x".to_owned());
        let spec = Spec::Credential(CredentialSpec { sealed });
        let first = NewVersion { spec, ..version(&samples, made.id, VersionState::Draft, "") };
        (ports.resources.create(&made, &first).await, first.id)
    };
    create(resource(&samples, &home, ResourceKind::Agent, "a")).await.0.unwrap();
    create(resource(&samples, &home, ResourceKind::Model, "a")).await.0.unwrap();
    create(resource(&samples, &other_home, ResourceKind::Agent, "a")).await.0.unwrap();
    let (refused, version_id) = create(resource(&samples, &home, ResourceKind::Agent, "a")).await;
    assert_conflict(refused);
    assert_eq!(ports.resources.versions(home.scope(), &[version_id]).await.unwrap(), []);
}

/// Versions get the next number, also when several are added at one time.
pub async fn versions_are_numbered_without_holes(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let made = resource(&samples, &home, ResourceKind::Agent, "auditor");
    ports.resources.create(&made, &version(&samples, made.id, VersionState::Published, "")).await.unwrap();
    let new: Vec<_> = (0..10).map(|_| version(&samples, made.id, VersionState::Draft, "")).collect();
    let added = join_all(new.iter().map(|new| ports.resources.add_version(home.scope(), new))).await;
    let mut numbers: Vec<u32> = added.into_iter().map(|version| version.unwrap().unwrap().number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (2..=11).collect::<Vec<_>>());

    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let request = PageRequest { first: 4, after };
        let page = ports.resources.list_versions(home.scope(), made.id, request).await.unwrap();
        listed.extend(page.rows.iter().map(|(_, version)| version.number));
        after = page.rows.last().map(|(key, _)| key.clone());
        if !page.has_next {
            break;
        }
    }
    assert_eq!(listed, (1..=11).rev().collect::<Vec<_>>());
    let unknown = version(&samples, samples.resource_id(), VersionState::Draft, "");
    assert_eq!(ports.resources.add_version(home.scope(), &unknown).await.unwrap(), None);
}

/// Publishing happens once and keeps its time; the newest published version is not the newest draft.
pub async fn publishing_happens_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let made = resource(&samples, &home, ResourceKind::Agent, "auditor");
    let drafts: Vec<_> = (0..3).map(|n| version(&samples, made.id, VersionState::Draft, &n.to_string())).collect();
    ports.resources.create(&made, &drafts[0]).await.unwrap();
    assert_eq!(ports.resources.latest_published(home.scope(), &[made.id]).await.unwrap(), []);
    for draft in &drafts[1..] {
        ports.resources.add_version(home.scope(), draft).await.unwrap().unwrap();
    }
    let published = ports.resources.publish(home.scope(), drafts[1].id, later(1)).await.unwrap().unwrap();
    assert_eq!((published.state, published.published_at), (VersionState::Published, Some(later(1))));
    let again = ports.resources.publish(home.scope(), drafts[1].id, later(2)).await.unwrap().unwrap();
    assert_eq!(again, published);
    ports.resources.publish(home.scope(), drafts[0].id, later(3)).await.unwrap().unwrap();
    assert_eq!(ports.resources.latest_published(home.scope(), &[made.id]).await.unwrap(), [published]);
    assert_eq!(ports.resources.publish(home.scope(), samples.version_id(), AT).await.unwrap(), None);
}

/// Archiving keeps the first time, and archived resources stay in the list.
pub async fn archiving_keeps_the_first_time(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    for slug in ["b", "a-1", "a", "c"] {
        let made = resource(&samples, &home, ResourceKind::Agent, slug);
        ports.resources.create(&made, &version(&samples, made.id, VersionState::Draft, "")).await.unwrap();
        let archived = ports.resources.archive(home.scope(), made.id, later(1)).await.unwrap().unwrap();
        assert_eq!(archived.archived_at, Some(later(1)));
        let again = ports.resources.archive(home.scope(), made.id, later(2)).await.unwrap().unwrap();
        assert_eq!(again, archived);
    }
    let list = async |after: Option<String>| {
        let request = PageRequest { first: 3, after };
        ports.resources.list(home.scope(), home.project.id, ResourceKind::Agent, request).await.unwrap()
    };
    let first = list(None).await;
    assert_eq!(first.rows.iter().map(|(_, row)| row.slug.as_str()).collect::<Vec<_>>(), ["a", "a-1", "b"]);
    assert!(first.has_next);
    let second = list(first.rows.last().map(|(key, _)| key.clone())).await;
    assert_eq!(second.rows.iter().map(|(_, row)| row.slug.as_str()).collect::<Vec<_>>(), ["c"]);
    assert!(!second.has_next);
    assert_eq!(list(Some("\u{1F980}".to_owned())).await.rows, []);
    assert_eq!(ports.resources.archive(home.scope(), samples.resource_id(), AT).await.unwrap(), None);
}

/// No finder shows and no write touches another tenant's resources.
pub async fn a_foreign_tenant_sees_no_resources(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let made = resource(&samples, &home, ResourceKind::Agent, "auditor");
    let draft = version(&samples, made.id, VersionState::Draft, "");
    let stored = ports.resources.create(&made, &draft).await.unwrap();
    let stranger = samples.home(ports).await.scope();
    let page = || PageRequest { first: 10, after: None };
    assert_eq!(ports.resources.resources(stranger, &[made.id]).await.unwrap(), []);
    assert_eq!(ports.resources.versions(stranger, &[draft.id]).await.unwrap(), []);
    assert_eq!(ports.resources.latest_published(stranger, &[made.id]).await.unwrap(), []);
    let kind = ResourceKind::Agent;
    assert_eq!(ports.resources.list(stranger, home.project.id, kind, page()).await.unwrap().rows, []);
    assert_eq!(ports.resources.list_versions(stranger, made.id, page()).await.unwrap().rows, []);
    assert_eq!(ports.resources.publish(stranger, draft.id, AT).await.unwrap(), None);
    assert_eq!(ports.resources.archive(stranger, made.id, AT).await.unwrap(), None);
    let new = version(&samples, made.id, VersionState::Draft, "");
    assert_eq!(ports.resources.add_version(stranger, &new).await.unwrap(), None);
    assert_eq!(ports.resources.resources(home.scope(), &[made.id]).await.unwrap(), [made]);
    assert_eq!(ports.resources.versions(home.scope(), &[draft.id]).await.unwrap(), [stored]);
}
