//! The key-file secret store: seals with XChaCha20-Poly1305 under a key that lies in one file.
//!
//! A sealed secret is `v1.` and the base64url of nonce and ciphertext; the label goes in as associated data, so that a
//! ciphertext opens only where it was put. Whoever has the key file and the database has the secrets.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use data_encoding::BASE64URL_NOPAD;

use domain::resource::{SealedSecret, SecretError, SecretStore};

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const VERSION: &str = "v1.";

/// Why the key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be made or read.
    #[error("the key file {} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Others can read it.
    #[error("the key file {} must be readable by its owner alone; run chmod 600 on it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// It holds no key.
    #[error("the key file {} must hold exactly 32 bytes", path.display())]
    Length {
        /// The file.
        path: PathBuf,
    },
}

/// Seals and opens with the key of one file.
pub struct KeyFileSecretStore {
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for KeyFileSecretStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyFileSecretStore(..)")
    }
}

impl KeyFileSecretStore {
    /// Reads the key, or makes a new one when there is no file.
    pub fn open(path: &Path) -> Result<Self, KeyFileError> {
        let failed = |source| KeyFileError::Io { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = make_key(path).map_err(failed)?;
                return Ok(Self { cipher: XChaCha20Poly1305::new(&Key::from(key)) });
            }
            Err(error) => return Err(failed(error)),
        };
        if file.metadata().map_err(failed)?.mode() & 0o077 != 0 {
            return Err(KeyFileError::Exposed { path: path.to_owned() });
        }
        let mut bytes = Vec::with_capacity(KEY_BYTES + 1);
        (&file).take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        let key: [u8; KEY_BYTES] = bytes.try_into().map_err(|_| KeyFileError::Length { path: path.to_owned() })?;
        Ok(Self { cipher: XChaCha20Poly1305::new(&Key::from(key)) })
    }
}

/// The key is durable under its name before the first secret is sealed with it; a crash leaves no half of one.
fn make_key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let draft = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(&key)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()?;
    Ok(key)
}

impl SecretStore for KeyFileSecretStore {
    fn seal(&self, label: &str, secret: &str) -> Result<SealedSecret, SecretError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| SecretError)?;
        let payload = Payload { msg: secret.as_bytes(), aad: label.as_bytes() };
        let ciphertext = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| SecretError)?;
        let bytes = [&nonce[..], &ciphertext].concat();
        Ok(SealedSecret(format!("{VERSION}{}", BASE64URL_NOPAD.encode(&bytes))))
    }

    fn open(&self, label: &str, sealed: &SealedSecret) -> Result<String, SecretError> {
        let text = sealed.0.strip_prefix(VERSION).ok_or(SecretError)?;
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| SecretError)?;
        let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(SecretError)?;
        let payload = Payload { msg: ciphertext, aad: label.as_bytes() };
        let secret = self.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SecretError)?;
        String::from_utf8(secret).map_err(|_| SecretError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(dir: &Path) -> KeyFileSecretStore {
        KeyFileSecretStore::open(&dir.join("secret.key")).unwrap()
    }

    #[test]
    fn opens_what_was_sealed_also_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = store(dir.path()).seal("ver_1", "s3cret ключ").unwrap();
        assert!(sealed.0.starts_with("v1.") && !sealed.0.contains("s3cret"));
        assert_eq!(store(dir.path()).open("ver_1", &sealed).unwrap(), "s3cret ключ");
        assert_eq!(dir.path().join("secret.key").metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn refuses_another_label_another_key_and_any_changed_character() {
        let dir = tempfile::tempdir().unwrap();
        let secrets = store(dir.path());
        let sealed = secrets.seal("ver_1", "secret").unwrap();
        assert!(secrets.open("ver_2", &sealed).is_err());
        let other = tempfile::tempdir().unwrap();
        assert!(store(other.path()).open("ver_1", &sealed).is_err());
        for at in 0..sealed.0.len() {
            let mut bytes = sealed.0.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = SealedSecret(String::from_utf8(bytes).unwrap());
            assert!(secrets.open("ver_1", &changed).is_err(), "character {at}");
        }
        for damaged in ["", "v1.", "v2.AAAA", "v1.AAAA"] {
            assert!(secrets.open("ver_1", &SealedSecret(damaged.to_owned())).is_err());
        }
    }

    #[test]
    fn the_same_secret_is_never_sealed_to_the_same_text() {
        let dir = tempfile::tempdir().unwrap();
        let secrets = store(dir.path());
        assert_ne!(secrets.seal("a", "x").unwrap(), secrets.seal("a", "x").unwrap());
        assert_eq!(format!("{secrets:?}"), "KeyFileSecretStore(..)");
    }

    #[test]
    fn refuses_a_key_that_others_can_read_or_that_is_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret.key");
        let write = |bytes: &[u8], mode| {
            let _ = std::fs::remove_file(&path);
            OpenOptions::new().write(true).create(true).mode(mode).open(&path).unwrap().write_all(bytes).unwrap();
        };
        write(&[7; 32], 0o644);
        assert!(matches!(KeyFileSecretStore::open(&path), Err(KeyFileError::Exposed { .. })));
        for length in [0, 31, 33] {
            write(&vec![7; length], 0o600);
            assert!(matches!(KeyFileSecretStore::open(&path), Err(KeyFileError::Length { .. })), "{length}");
        }
    }
}
