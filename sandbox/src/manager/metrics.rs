//! What a server measures, in the domain's units.

use domain::clock::Timestamp;
use domain::sandbox::SandboxMetrics;

use crate::opensandbox::Metrics;

const MIB: f64 = 1024.0 * 1024.0;

/// What a server said. Its numbers are shown as they are, and one that is none is 0.
pub(super) fn told(metrics: Metrics) -> SandboxMetrics {
    SandboxMetrics {
        cpus: plain(metrics.cpus),
        cpu_used_percent: plain(metrics.cpu_used_percent),
        memory_used_bytes: whole(metrics.mem_used_mib * MIB),
        memory_limit_bytes: whole(metrics.mem_total_mib * MIB),
        measured_at: Timestamp::from_micros(whole(metrics.measured_at_ms * 1000.0).cast_signed()),
    }
}

fn plain(number: f64) -> f64 {
    if number.is_finite() { number.max(0.0) } else { 0.0 }
}

/// A number that is beyond all bounds ends at them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both ends are checked")]
fn whole(number: f64) -> u64 {
    plain(number).min(9e15).round() as u64
}
