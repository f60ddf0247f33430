//! Looks at the image of a sandbox, once: which programs it has, and who the profile's user is in it.

use std::time::Duration;

use domain::sandbox::SandboxError;
use tokio_util::sync::CancellationToken;

use super::failure::failure;
use crate::opensandbox::{Captured, CommandRequest, Sandbox};
use crate::runner::{ImageFacts, survey};

const WITHIN: Duration = Duration::from_secs(30);

/// Makes the layout of the workspace and says what the image has. Refuses a user that the image does not have.
pub(super) async fn look(remote: &Sandbox, user: Option<&str>) -> Result<ImageFacts, SandboxError> {
    let mut request = CommandRequest::shell(survey(user));
    request.timeout = Some(WITHIN);
    let mut printed = Captured::default();
    let ran = remote.run(&request, &mut printed, &CancellationToken::new()).await;
    ran.map_err(|error| failure(&error))?;
    let facts = ImageFacts::parse(&printed.stdout).ok_or_else(|| refused("has no shell that could look at it"))?;
    checked(facts, user)
}

fn checked(facts: ImageFacts, user: Option<&str>) -> Result<ImageFacts, SandboxError> {
    match user {
        Some(user) if facts.user.is_none() => Err(refused(&format!("has no user {user}"))),
        _ if !facts.has("env") => Err(refused("has no env")),
        _ if !facts.has_layout => Err(refused("does not let /workspace be made and written to by its user")),
        _ => Ok(facts),
    }
}

fn refused(what: &str) -> SandboxError {
    let message = format!("the image of the sandbox profile {what}; choose another image or another user");
    SandboxError { code: "spec_refused", message, sandbox_lost: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_image_lacks_is_refused_by_name() {
        let check = |printed: &str, user| {
            let facts = ImageFacts::parse(&format!("{printed}\nsurvey done")).unwrap();
            checked(facts, user).map(drop).map_err(|error| format!("{}: {}", error.code, error.message))
        };
        assert_eq!(check("has env\nlayout made\nuser 7 7", Some("runner")), Ok(()));
        for (printed, user, word) in [
            ("has env\nlayout made", Some("runner"), "has no user runner"),
            ("layout made", None, "has no env"),
            ("has env\nlayout ", None, "/workspace"),
        ] {
            let refused = check(printed, user).unwrap_err();
            assert!(refused.starts_with("spec_refused: ") && refused.contains(word), "{refused}");
        }
    }
}
