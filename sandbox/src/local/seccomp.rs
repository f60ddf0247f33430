//! The system call filter of every sandbox: allow by default, refuse what widens the kernel's surface.
//!
//! Two programs, since one program of `seccompiler` has one refusal: the first answers EPERM for the listed calls,
//! the second ENOSYS for `clone3`, whose flags a filter cannot see, and refuses the x32 numbers as a whole.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use super::error::Error;

/// The flags of `clone` that make namespaces.
const NAMESPACE_FLAGS: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80,
];

/// Address families that a program without a network may still use. All others reach beyond the namespaces:
/// a VSOCK socket, for one, talks to the hypervisor whatever the network namespace is.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

const REFUSED: &[libc::c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// Calls that make memory which belongs to no process and to no file system, so that only a control group counts it.
const UNCOUNTED: &[libc::c_long] =
    &[libc::SYS_memfd_create, libc::SYS_memfd_secret, libc::SYS_shmget, libc::SYS_msgget];

/// What becomes of memory that only a control group counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncounted {
    Allowed,
    Refused,
}

/// `ioctl` requests that put words into a terminal's mouth.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

// Classic BPF, as `linux/filter.h` and `linux/seccomp.h` number it.
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const RETURN_ALLOW: u32 = 0x7fff_0000;
const RETURN_ERRNO: u32 = 0x0005_0000;
const FIRST_X32_CALL: u32 = 0x4000_0000;

/// The programs in the byte form that bubblewrap reads.
pub fn programs(uncounted: Uncounted) -> Result<[Vec<u8>; 2], Error> {
    let refusals: BpfProgram = filter(uncounted).map_err(|error| Error::Filter(error.to_string()))?;
    let numbers = call_numbers();
    Ok([bytes(&refusals), bytes(&numbers)])
}

fn filter(uncounted: Uncounted) -> Result<BpfProgram, seccompiler::BackendError> {
    let further = UNCOUNTED.iter().filter(|_| uncounted == Uncounted::Refused);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(further).map(|call| (*call, Vec::new())).collect();
    let mut clone = Vec::new();
    for flag in NAMESPACE_FLAGS {
        let flag = u64::from(flag.unsigned_abs());
        clone.push(rule(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])?);
    }
    rules.insert(libc::SYS_clone, clone);
    let terminals = [TIOCSTI, TIOCLINUX]
        .into_iter()
        .map(|request| rule(vec![condition(1, SeccompCmpOp::Eq, request)?]))
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_ioctl, terminals);
    let foreign = FAMILIES
        .into_iter()
        .map(|family| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_socket, vec![rule(foreign)?]);
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions)
}

fn call_numbers() -> BpfProgram {
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    vec![
        instruction(LOAD_WORD, 0, 0, 0),
        instruction(JUMP_IF_EQUAL, 2, 0, clone3),
        instruction(JUMP_IF_AT_LEAST, 2, 0, FIRST_X32_CALL),
        instruction(RETURN, 0, 0, RETURN_ALLOW),
        instruction(RETURN, 0, 0, RETURN_ERRNO | libc::ENOSYS.unsigned_abs()),
        instruction(RETURN, 0, 0, RETURN_ERRNO | libc::EPERM.unsigned_abs()),
    ]
}

fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend_from_slice(&instruction.code.to_ne_bytes());
        bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
        bytes.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    bytes
}
