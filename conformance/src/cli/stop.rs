//! Ctrl-C: the case at hand is finished and the report written. A second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// True once the user wants the run to stop.
pub(super) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// From now on the first SIGINT or SIGTERM asks the run to stop; the next one has its ordinary effect.
pub(super) fn on_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler does nothing but store to an atomic, and the structures are plain data, valid when zero.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut old);
            // Who started us may have had it ignored, as `nohup` and a shell's background do.
            if old.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn handler(_signal: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}
