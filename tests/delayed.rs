// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delayed scaling: known answers, the state as memory, and long traces against a model in plain
//! Python (`OFP8_PYTHON`, else `python3`; skipped loudly without one, except where `CI` is true).

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use ofp8::{Amax, AmaxAlgorithm, Delayed, Error, NonFiniteAmax, Recipe};

const fn amax(value: f32) -> Amax {
    Amax::of(value)
}

/// Records one amax of tensor 0 and ends the step.
fn step(state: &mut ofp8::AmaxHistory<'_>, value: f32) {
    state.record(0, amax(value)).unwrap();
    state.update();
}

fn history(state: &ofp8::AmaxHistory<'_>, tensor: usize) -> Vec<f32> {
    state.history(tensor).map(Amax::to_f32).collect()
}

/// TransformerEngine's roll: the staging slot, then the oldest to the newest; the maximum is
/// taken before the roll, over as many values as the history is long.
#[test]
fn window_and_roll() {
    let rules = Delayed::new(3).unwrap();
    let mut memory = vec![7; rules.words(1).unwrap()];
    let mut state = rules.init(1, &mut memory).unwrap();
    assert_eq!(state.amax(0), Some(Amax::ZERO));
    assert_eq!(Recipe::TENSOR.scale(Amax::ZERO).dequantize, 1.0);
    let expected = [
        (8.0, 8.0, [0.0, 0.0, 8.0]),
        (2.0, 8.0, [0.0, 8.0, 2.0]),
        (3.0, 8.0, [0.0, 2.0, 3.0]),
        (1.0, 3.0, [0.0, 3.0, 1.0]),
        (0.0, 3.0, [0.0, 3.0, 1.0]), // did not run
        (4.0, 4.0, [0.0, 1.0, 4.0]),
    ];
    for (seen, used, after) in expected {
        step(&mut state, seen);
        assert_eq!(state.amax(0), Some(amax(used)));
        assert_eq!(history(&state, 0), after);
    }
    let recent = rules.with_algorithm(AmaxAlgorithm::MostRecent);
    let mut state = recent.init(1, &mut memory).unwrap();
    for (seen, used) in [(8.0, 8.0), (2.0, 2.0), (0.0, 2.0), (3.0, 3.0)] {
        step(&mut state, seen);
        assert_eq!(state.amax(0), Some(amax(used)));
    }
}

/// The margin is the recipe's: scales grow by its power of two.
#[test]
fn margin_is_the_recipes() {
    let rules = Delayed::new(16).unwrap();
    let mut memory = vec![0; rules.words(1).unwrap()];
    let mut state = rules.init(1, &mut memory).unwrap();
    step(&mut state, 448.0);
    let used = state.amax(0).unwrap();
    assert_eq!(Recipe::TENSOR.scale(used).dequantize, 1.0);
    let wide = Recipe::TENSOR.with_margin(3).unwrap();
    assert_eq!(wide.scale(used).dequantize, 8.0);
}

/// An infinity or a NaN acts for one update as the policy says, is counted, and leaves no trace in
/// the history: nothing is frozen, nothing vanishes.
#[test]
fn infinities_and_nan() {
    for bad in [f32::INFINITY, f32::NAN] {
        for (policy, during) in [
            (NonFiniteAmax::Hold, amax(5.0)),
            (NonFiniteAmax::Clamp, amax(f32::MAX)),
            (NonFiniteAmax::Poison, Amax::NAN),
        ] {
            let rules = Delayed::new(4).unwrap().with_non_finite(policy);
            let mut memory = vec![0; rules.words(1).unwrap()];
            let mut state = rules.init(1, &mut memory).unwrap();
            step(&mut state, 5.0);
            let before = history(&state, 0);
            step(&mut state, bad);
            assert_eq!(state.amax(0), Some(during));
            assert_eq!(state.not_finite(0), Some(1));
            assert_eq!(history(&state, 0), before);
            step(&mut state, 0.0); // does not run: stays as it is
            assert_eq!(state.amax(0), Some(during));
            step(&mut state, 2.0);
            assert_eq!(state.amax(0), Some(amax(5.0)));
            assert_eq!(state.not_finite(0), Some(1));
        }
    }
}

/// Tensors do not touch one another: one that did not run keeps its history and its amax.
#[test]
fn a_tensor_that_did_not_run() {
    let rules = Delayed::new(3).unwrap();
    let mut memory = vec![0; rules.words(3).unwrap()];
    let mut state = rules.init(3, &mut memory).unwrap();
    for (a, c) in [(1.0, 10.0), (2.0, 0.0), (3.0, 0.0), (0.5, 4.0)] {
        state.record(0, amax(a)).unwrap();
        state.record(2, amax(c)).unwrap();
        assert!(state.update());
    }
    assert_eq!(history(&state, 0), [0.0, 3.0, 0.5]);
    assert_eq!(history(&state, 1), [0.0; 3]);
    assert_eq!(history(&state, 2), [0.0, 10.0, 4.0]);
    assert_eq!(state.amax(1), Some(Amax::ZERO));
    assert_eq!(state.amax(2), Some(amax(10.0)));
    assert_eq!(history(&state, 3), [0.0; 0]);
    assert_eq!((state.amax(3), state.not_finite(3)), (None, None));
    assert_eq!(state.record(3, amax(1.0)), Err(Error::Length));
}

#[test]
fn interval_and_calibration() {
    let rules = Delayed::new(4).unwrap().with_interval(3).unwrap();
    let rules = rules.with_calibration(1);
    let mut memory = vec![0; rules.words(1).unwrap()];
    let mut state = rules.init(1, &mut memory).unwrap();
    // In calibration, the running maximum at hand; the staging slot collects over the interval.
    for (seen, used, due) in [(2.0, 2.0, false), (6.0, 6.0, false), (1.0, 6.0, true)] {
        state.record(0, amax(seen)).unwrap();
        assert_eq!(state.amax(0), Some(amax(used)));
        assert_eq!(state.is_due(), due);
        assert_eq!(state.update(), due);
    }
    assert_eq!(history(&state, 0), [0.0, 0.0, 0.0, 6.0]);
    // After it, the history alone.
    for seen in [9.0, 1.0] {
        state.record(0, amax(seen)).unwrap();
        assert_eq!(state.amax(0), Some(amax(6.0)));
        assert!(!state.update());
    }
    assert!(state.update());
    assert_eq!(state.amax(0), Some(amax(9.0)));
    assert_eq!(state.step(), 6);
}

/// Saved and restored in the middle, a state goes on as if nothing had happened.
#[test]
fn save_and_restore() {
    let rules = Delayed::new(5).unwrap().with_interval(2).unwrap();
    let mut memory = vec![0; rules.words(2).unwrap()];
    let mut other = vec![1; memory.len()];
    rules.init(2, &mut memory).unwrap();
    for i in 0..50 {
        if i == 21 {
            other.copy_from_slice(&memory);
        }
        for (copy, memory) in [(0, &mut memory), (1, &mut other)] {
            if copy == 1 && i < 21 {
                continue;
            }
            let mut state = rules.attach(memory).unwrap();
            state.record(0, amax((i * 37 % 11) as f32)).unwrap();
            state.record(1, amax((i * 53 % 17) as f32)).unwrap();
            state.update();
        }
    }
    assert_eq!(memory, other);
    assert_eq!(memory[0], Delayed::VERSION);
    assert_eq!(memory[..5], [Delayed::VERSION, 5, 2, 50, 0]);
}

#[test]
fn memory_that_is_no_such_state() {
    let rules = Delayed::new(5).unwrap();
    let words = rules.words(2).unwrap();
    assert_eq!(words, 8 + (5 + 3) * 2);
    let mut memory = vec![0; words + 1];
    let untouched = memory.clone();
    assert_eq!(rules.init(2, &mut memory).err(), Some(Error::Length));
    assert_eq!(
        rules.init(2, &mut memory[..words - 1]).err(),
        Some(Error::Length)
    );
    assert_eq!(rules.attach(&mut memory[..words]).err(), Some(Error::State));
    assert_eq!(rules.attach(&mut memory[..7]).err(), Some(Error::Length));
    assert_eq!(memory, untouched);
    assert!(rules.init(2, &mut memory[..words]).is_ok());
    assert!(rules.attach(&mut memory[..words]).is_ok());
    assert_eq!(rules.attach(&mut memory).err(), Some(Error::Length));
    assert_eq!(
        rules.attach(&mut memory[..words - 1]).err(),
        Some(Error::Length)
    );
    let other = Delayed::new(6).unwrap();
    assert_eq!(other.attach(&mut memory[..words]).err(), Some(Error::State));
    memory[0] += 1;
    assert_eq!(rules.attach(&mut memory[..words]).err(), Some(Error::State));

    assert_eq!(Delayed::new(0), Err(Error::Recipe));
    assert_eq!(rules.with_interval(0), Err(Error::Recipe));
    assert_eq!(rules.words(usize::MAX), Err(Error::Shape));
    assert_eq!(rules.words(0), Ok(8));
    let mut empty = [0; 8];
    let mut none = rules.init(0, &mut empty).unwrap();
    assert!(none.update());
    assert_eq!(none.amax(0), None);
}

/// A history filled elsewhere may hold an infinity: it is passed over, in and after calibration.
#[test]
fn a_history_from_elsewhere() {
    let rules = Delayed::new(4).unwrap();
    let mut memory = vec![0; rules.words(1).unwrap()];
    rules.init(1, &mut memory).unwrap();
    memory[9] = f32::INFINITY.to_bits();
    memory[10] = f32::NAN.to_bits();
    memory[11] = 7f32.to_bits();
    let calibrating = rules.with_calibration(9);
    assert_eq!(
        calibrating.attach(&mut memory).unwrap().amax(0),
        Some(amax(7.0))
    );
    let mut state = rules.attach(&mut memory).unwrap();
    step(&mut state, 3.0);
    assert_eq!(state.amax(0), Some(amax(7.0)));
}

#[cfg(feature = "heapless")]
#[test]
fn in_a_heapless_vector() {
    let rules = Delayed::new(16).unwrap();
    let mut memory = heapless::Vec::<u32, 100>::new();
    let mut state = rules.init_in(4, &mut memory).unwrap();
    step(&mut state, 3.0);
    assert_eq!(state.amax(0), Some(amax(3.0)));
    assert_eq!(memory.len(), 8 + 19 * 4);
    assert_eq!(rules.attach(&mut memory).unwrap().amax(0), Some(amax(3.0)));
    assert_eq!(rules.init_in(5, &mut memory).err(), Some(Error::Length));
}

/// What a trace is run with.
struct Setting {
    history: usize,
    algorithm: (AmaxAlgorithm, &'static str),
    non_finite: (NonFiniteAmax, &'static str),
    interval: u32,
    calibration: u32,
    margin: i32,
}

const TENSORS: usize = 3;
const STEPS: usize = 1000;

fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for history in [1, 2, 16, 40] {
        for algorithm in [
            (AmaxAlgorithm::Max, "max"),
            (AmaxAlgorithm::MostRecent, "most_recent"),
        ] {
            for non_finite in [
                (NonFiniteAmax::Hold, "hold"),
                (NonFiniteAmax::Clamp, "clamp"),
                (NonFiniteAmax::Poison, "poison"),
            ] {
                for (interval, calibration, margin) in
                    [(1, 0, 0), (1, 10, 1), (100, 0, 2), (100, 3, 0)]
                {
                    all.push(Setting {
                        history,
                        algorithm,
                        non_finite,
                        interval,
                        calibration,
                        margin,
                    });
                }
            }
        }
    }
    all
}

/// The amaxes that the passes over each tensor see in a step: ordinary ones of a drifting
/// magnitude, now and then tiny, huge, infinite or NaN; none where the tensor does not run.
fn trace() -> Vec<[Vec<f32>; TENSORS]> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    let mut one = |step: usize| {
        let passes = [0, 1, 1, 1, 1, 2, 3][random() as usize % 7];
        (0..passes)
            .map(|_| match random() % 100 {
                0 => f32::INFINITY,
                1 => f32::NAN,
                2 => f32::NEG_INFINITY,
                3 => f32::MAX,
                4 => 1e-37,
                5 => 0.0,
                _ => -(random() as f32 / 1e9 + 0.1) * (1.0 + (step / 100) as f32),
            })
            .collect::<Vec<f32>>()
    };
    (0..STEPS)
        .map(|step| std::array::from_fn(|_| one(step)))
        .collect()
}

fn bits(value: f32) -> String {
    if value.is_nan() {
        "nan".to_string()
    } else {
        format!("{:08x}", value.to_bits())
    }
}

/// What the library says of a trace, in the words of the Python model.
fn replay(setting: &Setting, trace: &[[Vec<f32>; TENSORS]], printed: &mut String) {
    let rules = Delayed::new(setting.history)
        .unwrap()
        .with_algorithm(setting.algorithm.0)
        .with_non_finite(setting.non_finite.0)
        .with_interval(setting.interval)
        .unwrap()
        .with_calibration(setting.calibration);
    let recipe = Recipe::TENSOR.with_margin(setting.margin).unwrap();
    let mut memory = vec![0xA5A5_A5A5; rules.words(TENSORS).unwrap()];
    rules.init(TENSORS, &mut memory).unwrap();
    for step in trace {
        let mut state = rules.attach(&mut memory).unwrap();
        for (tensor, seen) in step.iter().enumerate() {
            for &value in seen {
                state.record(tensor, Amax::of(value)).unwrap();
            }
        }
        let used: Vec<Amax> = (0..TENSORS).map(|i| state.amax(i).unwrap()).collect();
        let due = state.is_due();
        assert_eq!(state.update(), due);
        for (tensor, used) in used.iter().enumerate() {
            let scale = recipe.scale(*used).dequantize;
            let after = state.amax(tensor).unwrap().to_f32();
            let count = state.not_finite(tensor).unwrap();
            let (used, scale, after) = (bits(used.to_f32()), bits(scale), bits(after));
            write!(printed, "{used} {scale} {after} {count} ").unwrap();
        }
        writeln!(printed, "{}", if due { "due" } else { "-" }).unwrap();
    }
    let state = rules.attach(&mut memory).unwrap();
    for tensor in 0..TENSORS {
        let entries: Vec<String> = history(&state, tensor).into_iter().map(bits).collect();
        writeln!(printed, "history {}", entries.join(" ")).unwrap();
    }
}

/// The traces as the Python model reads them.
fn questions(settings: &[Setting], trace: &[[Vec<f32>; TENSORS]]) -> String {
    let mut text = String::new();
    for setting in settings {
        let (algorithm, policy) = (setting.algorithm.1, setting.non_finite.1);
        let (interval, calibration) = (setting.interval, setting.calibration);
        let (history, margin) = (setting.history, setting.margin);
        writeln!(
            text,
            "trace {history} {TENSORS} {algorithm} {policy} {interval} {calibration} {margin}"
        )
        .unwrap();
        for step in trace {
            let words: Vec<String> = step
                .iter()
                .map(|seen| {
                    let bits: Vec<_> = seen.iter().map(|v| format!("{:x}", v.to_bits())).collect();
                    if bits.is_empty() {
                        "-".to_string()
                    } else {
                        bits.join(",")
                    }
                })
                .collect();
            writeln!(text, "{}", words.join(" ")).unwrap();
        }
    }
    text
}

#[test]
fn traces_are_those_of_the_python_model() {
    let python = std::env::var("OFP8_PYTHON").unwrap_or_else(|_| "python3".to_string());
    let root = env!("CARGO_MANIFEST_DIR");
    let started = Command::new(&python)
        .arg(format!("{root}/ffi-tests/python/delayed_model.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut model = match started {
        Ok(model) => model,
        Err(error) if std::env::var_os("CI").is_some_and(|ci| ci == "true") => {
            panic!("{python} is required in CI: {error}")
        }
        Err(error) => {
            eprintln!("\n*** SKIPPED: the Python model: cannot start {python}: {error} ***\n");
            return;
        }
    };
    let (settings, trace) = (settings(), trace());
    let questions = questions(&settings, &trace);
    let mut input = model.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = model.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "the model failed");
    let theirs = String::from_utf8(output.stdout).unwrap();
    let mut theirs = theirs.lines();
    for setting in &settings {
        let mut ours = String::new();
        replay(setting, &trace, &mut ours);
        for (line, our) in ours.lines().enumerate() {
            let (algorithm, policy) = (setting.algorithm.1, setting.non_finite.1);
            assert_eq!(
                Some(our),
                theirs.next(),
                "line {line} of: history {}, {algorithm}, {policy}, interval {}, calibration {}",
                setting.history,
                setting.interval,
                setting.calibration
            );
        }
    }
    assert_eq!(theirs.next(), None);
}
