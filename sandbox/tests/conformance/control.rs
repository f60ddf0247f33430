//! Taking the server under test away and bringing it back.

use rustix::process::{Pid, Signal, kill_process};

use crate::target::Control;

impl Control {
    /// Kills the server, as a crash would. Its sandboxes stay.
    pub async fn kill_server(&self) {
        self.call("server-kill").await;
    }

    /// Starts it again and waits until it answers.
    pub async fn start_server(&self) {
        self.call("server-start").await;
    }

    /// Stops the server's process without ending it: connections are taken, and nobody answers.
    pub fn freeze_server(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
    }

    pub fn thaw_server(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    fn pid(&self) -> Pid {
        let text = std::fs::read_to_string(&self.pid_file).unwrap();
        Pid::from_raw(text.trim().parse().unwrap()).unwrap()
    }

    async fn call(&self, what: &str) {
        let output = tokio::process::Command::new(&self.script).arg(what).output().await.unwrap();
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
