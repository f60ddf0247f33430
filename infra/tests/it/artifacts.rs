//! The artifact directory against its contract, and what only a directory can do wrong.

use bytes::Bytes;
use domain::artifact::ArtifactStore;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::ids::TenantId;
use domain::testing::contract::artifacts;
use infra::artifact_dir::DirArtifactStore;
use tempfile::TempDir;

const HERE: Scope = Scope { tenant_id: TenantId::from_bits(1) };

fn store() -> (TempDir, DirArtifactStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = DirArtifactStore::open(&dir.path().join("artifacts")).unwrap();
    (dir, store)
}

#[tokio::test]
async fn keeps_the_contract() {
    let (_dir, store) = store();
    artifacts::bytes_come_back_equal(&store).await;
    artifacts::the_same_bytes_are_stored_again(&store).await;
    artifacts::a_draft_is_stored_when_it_is_kept(&store).await;
    artifacts::only_its_tenant_sees_a_blob(&store).await;
    artifacts::texts_come_back_equal(&store).await;
}

#[tokio::test]
async fn a_damaged_file_is_never_handed_out_and_no_path_is_told() {
    let (dir, store) = store();
    let sha256 = store.put(HERE, Bytes::from_static(b"whole")).await.unwrap();
    let path = dir.path().join("artifacts").join(HERE.tenant_id.to_string()).join(&sha256[..2]).join(&sha256);
    std::fs::write(&path, b"hole!").unwrap();
    let error = store.get(HERE, &sha256).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(!error.to_string().contains('/'), "{error}");

    std::fs::write(&path, b"cut").unwrap();
    store.put(HERE, Bytes::from_static(b"whole")).await.unwrap();
    assert_eq!(store.get(HERE, &sha256).await.unwrap().unwrap(), "whole");
}

#[tokio::test]
async fn keeps_the_same_bytes_once_and_no_drafts() {
    let (dir, store) = store();
    for _ in 0..3 {
        store.put(HERE, Bytes::from_static(b"same")).await.unwrap();
    }
    let root = dir.path().join("artifacts");
    std::fs::write(root.join("drafts/left-by-a-crash"), b"half").unwrap();
    drop(store);
    let store = DirArtifactStore::open(&root).unwrap();
    assert_eq!(std::fs::read_dir(root.join("drafts")).unwrap().count(), 0);
    let sha256 = store.put(HERE, Bytes::from_static(b"same")).await.unwrap();
    let shard = root.join(HERE.tenant_id.to_string()).join(&sha256[..2]);
    assert_eq!(std::fs::read_dir(shard).unwrap().count(), 1);
}
