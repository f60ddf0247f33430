//! The event log as it lies in SQLite, read past the server: what subscriptions must deliver byte for byte.

use std::path::Path;
use std::process::Command;

use crate::Result;

/// Prints the lines of all segments of one execution, in order, as they are stored.
const READ: &str = "
import sqlite3, sys
database = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)
rows = database.execute('SELECT first_sequence, last_sequence, bytes FROM event_segment WHERE execution_id = ? '
                        'ORDER BY first_sequence', (sys.argv[2],))
expected = 1
for first, last, lines in rows:
    assert first == expected, 'segment %d follows event %d' % (first, expected - 1)
    assert last == first + lines.count(b'\\n'), 'segment %d has another count of lines' % first
    expected = last + 1
    sys.stdout.buffer.write(lines + b'\\n')
";

/// The stored events of an execution, one line each.
pub fn stored_events(data_dir: &Path, execution: &str) -> Result<Vec<String>> {
    let database = data_dir.join("vitrine.db");
    let output = Command::new("python3").args(["-c", READ]).arg(&database).arg(execution).output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", database.display(), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}
