//! The audit log, as the API shows it: beside what a record is about, to whoever may see that.

mod object;

pub use object::AuditRecord;
