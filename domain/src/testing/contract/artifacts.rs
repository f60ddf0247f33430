//! Bytes under their digest.

use bytes::Bytes;
use futures_util::future::join_all;

use crate::artifact::{ArtifactStore, StoredText, load_text, sha256_hex, store_text};
use crate::ctx::Scope;
use crate::ids::TenantId;

const HERE: Scope = Scope { tenant_id: TenantId::from_bits(1) };
const ELSEWHERE: Scope = Scope { tenant_id: TenantId::from_bits(2) };

/// Bytes come back equal, whatever they are.
pub async fn bytes_come_back_equal(store: &dyn ArtifactStore) {
    for bytes in [Vec::new(), vec![0], (0..=255).cycle().take(3_000_000).collect()] {
        let sha256 = store.put(HERE, Bytes::from(bytes.clone())).await.unwrap();
        assert_eq!(sha256, sha256_hex(&bytes));
        assert!(store.get(HERE, &sha256).await.unwrap().as_deref() == Some(&bytes[..]), "{sha256}");
    }
}

/// The same bytes can be stored again, also at one time.
pub async fn the_same_bytes_are_stored_again(store: &dyn ArtifactStore) {
    let bytes = Bytes::from_static(b"the same");
    let stored = join_all((0..10).map(|_| store.put(HERE, bytes.clone()))).await;
    for sha256 in stored {
        assert_eq!(store.get(HERE, &sha256.unwrap()).await.unwrap().unwrap(), bytes);
    }
}

/// Bytes that come in pieces are stored when they are kept, and otherwise not.
pub async fn a_draft_is_stored_when_it_is_kept(store: &dyn ArtifactStore) {
    let whole: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    for _ in 0..2 {
        let mut draft = store.begin(HERE).await.unwrap();
        for piece in whole.chunks(70_000) {
            draft.write(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        let blob = draft.keep().await.unwrap();
        assert_eq!((blob.sha256.clone(), blob.byte_size), (sha256_hex(&whole), 300_000));
        assert!(store.get(HERE, &blob.sha256).await.unwrap().as_deref() == Some(&whole[..]));
        assert_eq!(store.get(ELSEWHERE, &blob.sha256).await.unwrap(), None);
    }
    let mut dropped = store.begin(HERE).await.unwrap();
    dropped.write(Bytes::from_static(b"never kept")).await.unwrap();
    drop(dropped);
    assert_eq!(store.get(HERE, &sha256_hex(b"never kept")).await.unwrap(), None);
    let empty = store.begin(HERE).await.unwrap().keep().await.unwrap();
    assert_eq!((empty.sha256, empty.byte_size), (sha256_hex(b""), 0));
}

/// Another tenant does not see them, and what is no digest names nothing.
pub async fn only_its_tenant_sees_a_blob(store: &dyn ArtifactStore) {
    let sha256 = store.put(HERE, Bytes::from_static(b"mine")).await.unwrap();
    assert_eq!(store.get(ELSEWHERE, &sha256).await.unwrap(), None);
    let parent = format!("../{}/{}/{sha256}", HERE.tenant_id, &sha256[..2]);
    for text in ["", "..", "é", &sha256[1..], &sha256.to_uppercase(), &parent, &sha256_hex(b"absent")] {
        assert_eq!(store.get(HERE, text).await.unwrap(), None, "{text}");
    }
}

/// A text stays in its row when it is short, and comes back equal when it is long.
pub async fn texts_come_back_equal(store: &dyn ArtifactStore) {
    for (text, is_inline) in [("short".to_owned(), true), ("é".repeat(35_000), false), ("x".repeat(1 << 20), false)] {
        let stored = store_text(store, HERE, text.clone()).await.unwrap();
        assert_eq!(matches!(stored, StoredText::Inline(_)), is_inline);
        assert!(load_text(store, HERE, &stored).await.unwrap() == text);
    }
}
