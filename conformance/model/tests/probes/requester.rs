//! Probes of the requester.

use std::time::Duration;

use rocespec_codec::NakCode;
use rocespec_model::SendOperation::{FetchAdd, RdmaRead, RdmaWrite, Send, SendWithImmediate};
use rocespec_model::{Access, CreditUse, Defects, QpState, SendFlags, SendRequest};

use super::{Probe, Trace, trace};
use crate::harness::requester::{
    T, ack, ack_with_credits, nak, read_first, read_last, read_middle, read_only, requester_with, rnr_nak, sequence_nak,
};
use crate::harness::{Lab, MTU, Options, Req, to};

fn run(defects: Defects, script: impl FnOnce(&mut Lab)) -> Trace {
    run_with(defects, |_| {}, script)
}

/// The trace says also when things happened.
fn run_with(defects: Defects, change: impl FnOnce(&mut Options), script: impl FnOnce(&mut Lab)) -> Trace {
    let mut lab = requester_with(|options| {
        options.defects = defects;
        change(options);
    });
    script(&mut lab);
    let late = lab.until(lab.now + T * 40);
    let lines: Vec<_> = late.iter().map(|(time, line)| format!("{time} {line}")).collect();
    trace(&mut lab, &lines)
}

fn answers(lab: &mut Lab, answers: impl IntoIterator<Item = Req>) {
    for answer in answers {
        lab.answer(answer);
    }
}

pub(crate) const PROBES: &[Probe] = &[
    // What is sent.
    |defects| {
        run_with(
            defects,
            |options| options.start_psn = 5,
            |lab| {
                lab.start(0, RdmaWrite, 600);
                lab.answer(ack(2, 1));
            },
        )
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, RdmaRead, 600);
            let request = SendRequest { immediate: 0x0102_0304, ..lab.work(1, SendWithImmediate, 4) };
            lab.submit(request);
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.modify(to(QpState::Sqd));
            lab.start(0, RdmaWrite, 8);
        })
    },
    |defects| run(defects, |lab| answers(lab, [ack(0xff_ffff, 0)])),
    // Sending again.
    |defects| {
        run_with(
            defects,
            |options| options.attributes.retry_count = Some(1),
            |lab| {
                lab.start(0, RdmaWrite, 600);
                lab.wait(T);
                lab.answer(ack(0, 0));
            },
        )
    },
    |defects| run_with(defects, |options| options.attributes.retry_count = Some(7), |lab| drop(lab.start(0, Send, 4))),
    |defects| run_with(defects, |options| options.attributes.timeout = Some(0), |lab| drop(lab.start(0, Send, 4))),
    |defects| {
        run(defects, |lab| {
            lab.start(0, Send, 4);
            lab.start(1, RdmaWrite, 900);
            lab.answer(sequence_nak(2));
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start_all(Send, &[4, 4, 4]);
            lab.answer(nak(1, NakCode::RemoteAccessError));
        })
    },
    |defects| {
        run_with(
            defects,
            |options| options.attributes.rnr_retry = Some(1),
            |lab| {
                lab.start(0, Send, 4);
                for _ in 0..3 {
                    lab.answer(rnr_nak(0, 2));
                    lab.wait(Duration::from_micros(20));
                }
            },
        )
    },
    |defects| {
        run_with(
            defects,
            |options| options.attributes.rnr_retry = Some(7),
            |lab| {
                lab.start(0, Send, 4);
                for _ in 0..9 {
                    lab.answer(rnr_nak(0, 1));
                    lab.wait(Duration::from_micros(10));
                }
            },
        )
    },
    // Answers.
    |defects| {
        run(defects, |lab| {
            lab.start_all(Send, &[4, 4, 4]);
            answers(lab, [ack(1, 2), ack(0, 1), ack(100, 3)]);
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, Send, 4);
            lab.answer(ack(1, 2));
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, RdmaRead, 4);
            lab.start(1, Send, 4);
            lab.answer(ack(1, 2));
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, RdmaRead, 600);
            answers(lab, [read_first(0, &[1; MTU]), read_last(2, &[2; 88])]);
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, RdmaRead, 600);
            lab.answer(read_middle(0, &[1; MTU]));
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, RdmaRead, 8);
            lab.answer(read_only(0, &[1; 4]));
        })
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, FetchAdd, 0);
            lab.answer(read_only(0, &[1; 8]));
        })
    },
    // What holds requests back.
    |defects| {
        run_with(
            defects,
            |options| options.policy.credit_use = CreditUse::Kept,
            |lab| {
                lab.start_all(Send, &[4; 4]);
                answers(lab, [ack_with_credits(0, 1, 0), ack_with_credits(1, 2, 0), ack_with_credits(1, 2, 2)]);
            },
        )
    },
    |defects| {
        run_with(
            defects,
            |options| options.attributes.max_rd_atomic = Some(1),
            |lab| {
                lab.start(0, RdmaRead, 4);
                lab.start(1, RdmaRead, 4);
            },
        )
    },
    |defects| {
        run(defects, |lab| {
            lab.start(0, RdmaRead, 4);
            let flags = SendFlags { fence: true, ..SendFlags::default() };
            let request = SendRequest { flags, ..lab.work(1, Send, 4) };
            lab.submit(request);
        })
    },
    // The end of a connection.
    |defects| {
        run_with(
            defects,
            |options| options.region_access = Access::NONE,
            |lab| {
                let request = SendRequest { flags: SendFlags::default(), ..lab.work(0, RdmaRead, 4) };
                lab.submit(request);
                lab.start(1, Send, 4);
            },
        )
    },
];
