// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole run: a checkpoint in, a quantized checkpoint and its report out.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use ofp8::Block;
use serde_json::{Map, Value, json};

use crate::Result;
use crate::args::{Args, RecipeName, ScaleFormat, Settings};
use crate::checkpoint::{CONFIG, Checkpoint, Directory, INDEX, QUANTIZATION_CONFIG, Shard};
use crate::output::{Staged, Writer, json_text, write_json};
use crate::plan::{Fate, ShardPlan, Step, plan};
use crate::report::{KeptTensor, QuantizedTensor, Report, print};
use crate::tensor;

pub fn run(args: &Args, input: &Path, output: &Path) -> Result<()> {
    let settings = args.settings()?;
    let begin = Instant::now();
    let checkpoint = Checkpoint::open(input)?;
    let place = check_output(&checkpoint, output)?;
    let report_place = report_place(&checkpoint, &place, args.report.as_deref())?;
    let plans = plan(&checkpoint, &settings)?;
    note_unused_patterns(args, &plans);

    let staged = Staged::new(output)?;
    let mut report = Report::new(&settings);
    let progress = progress_bar(&checkpoint);
    match &checkpoint.directory {
        None => convert_file(&plans[0], staged.path(), &settings, &mut report, &progress)?,
        Some(directory) => {
            let folder = staged.path();
            fs::create_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            for plan in &plans {
                let file = plan.shard.path.file_name().expect("a shard has a name");
                let path = folder.join(file);
                convert_file(plan, &path, &settings, &mut report, &progress)?;
            }
            write_companions(&checkpoint, directory, folder, &plans, &settings)?;
        }
    }
    progress.finish_and_clear();

    match report_place {
        ReportPlace::File(path) => {
            let staged = Staged::new(path)?;
            write_json(staged.path(), &report.to_json())?;
            staged.commit()?;
        }
        ReportPlace::Output(name) => write_json(&staged.path().join(name), &report.to_json())?,
        ReportPlace::Nowhere | ReportPlace::StandardOutput => {}
    }
    staged.commit()?;
    match report_place {
        ReportPlace::StandardOutput => print(&json_text(&report.to_json())),
        _ => report.print(begin.elapsed()),
    }
}

/// Quantizes one safetensors file.
fn convert_file(
    plan: &ShardPlan<'_>,
    path: &Path,
    settings: &Settings,
    report: &mut Report,
    progress: &ProgressBar,
) -> Result<()> {
    let mut writer = Writer::create(path, plan.shard.text(), plan.slots(settings))?;
    for step in &plan.steps {
        progress.set_message(step.tensor.name.to_owned());
        convert_tensor(plan.shard, step, &mut writer, settings, report)?;
        progress.inc(step.tensor.bytes.len() as u64);
    }
    writer.finish()?;
    report.bytes_before += plan.shard.len();
    report.bytes_after += fs::metadata(path)
        .map_err(|error| format!("{}: {error}", path.display()))?
        .len();
    Ok(())
}

fn convert_tensor(
    shard: &Shard,
    step: &Step<'_>,
    writer: &mut Writer,
    settings: &Settings,
    report: &mut Report,
) -> Result<()> {
    let tensor = step.tensor;
    match &step.fate {
        Fate::Keep(reason) => {
            writer.write(tensor.name, tensor.bytes)?;
            report.kept.push(KeptTensor {
                name: tensor.name.into(),
                dtype: tensor.dtype,
                shape: tensor.shape.into(),
                reason: reason.clone(),
                bytes: tensor.bytes.len() as u64,
            });
        }
        Fate::Quantize(scales) => {
            let matrices = match tensor.matrices() {
                // One scale for all of them.
                (count, rows, cols) if settings.recipe.block() == Block::TENSOR => {
                    (1, count * rows, cols)
                }
                matrices => matrices,
            };
            let (recipe, packing) = (&settings.recipe, settings.element.packing());
            let quantized = tensor::quantize(recipe, packing, tensor.dtype, tensor.bytes, matrices);
            let quantized = quantized.map_err(|found| {
                format!(
                    "{}: tensor {:?}: {found}",
                    shard.path.display(),
                    tensor.name
                )
            })?;
            writer.write(tensor.name, &quantized.codes)?;
            writer.write(&scales.blocks, &quantized.scales)?;
            if let Some(name) = &scales.tensor {
                writer.write(name, &quantized.tensor_scales)?;
            }
            report.quantized.push(QuantizedTensor {
                name: tensor.name.into(),
                dtype: tensor.dtype,
                shape: tensor.shape.into(),
                stats: quantized.stats,
                measure: quantized.measure,
                worst_row: quantized.worst_row,
                bytes_before: tensor.bytes.len() as u64,
                bytes_after: quantized.len() as u64,
            });
        }
    }
    Ok(())
}

/// Writes what a model directory has besides tensors: the index, the configuration, the rest.
fn write_companions(
    checkpoint: &Checkpoint,
    directory: &Directory,
    folder: &Path,
    plans: &[ShardPlan<'_>],
    settings: &Settings,
) -> Result<()> {
    if let Some(index) = &directory.index {
        write_json(&folder.join(INDEX), &new_index(index, plans, settings))?;
    }
    match (&directory.config, quantization_config(plans, settings)) {
        (Some(config), Some(quantization)) => {
            let mut config = config.clone();
            config.insert(QUANTIZATION_CONFIG.into(), quantization);
            write_json(&folder.join(CONFIG), &Value::Object(config))?;
        }
        (Some(_), None) => {
            eprintln!(
                "note: {CONFIG} is copied as it is: for --recipe {} there is no {QUANTIZATION_CONFIG} that loaders agree on",
                settings.recipe_name.name()
            );
            copy(&checkpoint.path, folder, Path::new(CONFIG))?;
        }
        (None, _) => {
            eprintln!("note: there is no {CONFIG} that could tell loaders of the quantization")
        }
    }
    for file in &directory.others {
        if is_weights(file) {
            eprintln!(
                "note: {} is not copied: it looks like the weights in another form",
                file.display()
            );
        } else {
            copy(&checkpoint.path, folder, file)?;
        }
    }
    Ok(())
}

/// Whether a file beside the checkpoint holds weights too: at full precision, beside the
/// quantized ones, a loader could take them by mistake.
fn is_weights(file: &Path) -> bool {
    const ENDINGS: [&str; 10] = [
        "safetensors",
        "bin",
        "pt",
        "pth",
        "ckpt",
        "gguf",
        "h5",
        "msgpack",
        "onnx",
        "ot",
    ];
    let ending = file.extension().map(|ending| ending.to_ascii_lowercase());
    ENDINGS
        .iter()
        .any(|weights| ending.as_deref() == Some(weights.as_ref()))
}

/// The index with the tensors and the size of the output.
fn new_index(index: &Map<String, Value>, plans: &[ShardPlan<'_>], settings: &Settings) -> Value {
    let mut weight_map = Map::new();
    let mut total_size = 0;
    for plan in plans {
        let file = plan.shard.path.file_name().expect("a shard has a name");
        for slot in plan.slots(settings) {
            total_size += slot.len();
            weight_map.insert(slot.name, json!(file.to_string_lossy()));
        }
    }
    weight_map.sort_keys();
    let mut index = index.clone();
    index["weight_map"] = Value::Object(weight_map);
    let metadata = index.entry("metadata").or_insert_with(|| json!({}));
    if let Value::Object(metadata) = metadata {
        metadata.insert("total_size".into(), json!(total_size));
    }
    Value::Object(index)
}

/// What loaders of block-quantized checkpoints look for in config.json: DeepSeek-V3's keys, and
/// the modules that are not quantized (read by transformers and vLLM).
fn quantization_config(plans: &[ShardPlan<'_>], settings: &Settings) -> Option<Value> {
    let block = match settings.recipe_name {
        RecipeName::Block128 => [128, 128],
        RecipeName::Tile128 => [1, 128],
        _ => return None,
    };
    let mut config = json!({
        "quant_method": "fp8",
        "fmt": settings.element.name(),
        "weight_block_size": block,
        "activation_scheme": "dynamic",
    });
    if settings.scale != ScaleFormat::F32 {
        config["scale_fmt"] = json!("ue8m0");
    }
    let steps = plans.iter().flat_map(|plan| &plan.steps);
    let unconverted: Vec<&str> = steps
        .filter(|step| matches!(step.fate, Fate::Keep(_)) && step.tensor.shape.len() > 1)
        .filter_map(|step| step.tensor.name.strip_suffix(".weight"))
        .collect();
    if !unconverted.is_empty() {
        config["modules_to_not_convert"] = json!(unconverted);
    }
    Some(config)
}

fn copy(from: &Path, to: &Path, file: &Path) -> Result<()> {
    let target = to.join(file);
    let folder = target.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::copy(from.join(file), &target)
        .map(drop)
        .map_err(|error| format!("{}: {error}", target.display()))
}

/// The place of the output; refuses one that would damage something.
fn check_output(checkpoint: &Checkpoint, output: &Path) -> Result<PathBuf> {
    let place = resolve(output)?;
    if place.starts_with(resolve(&checkpoint.path)?) {
        return Err(format!(
            "{}: the output is the input, or inside it",
            output.display()
        ));
    }
    if let Ok(metadata) = fs::metadata(output) {
        let wrong = match &checkpoint.directory {
            None if metadata.is_file() => None,
            None => Some("exists and is not a file"),
            Some(_) if !metadata.is_dir() => Some("exists and is not a directory"),
            Some(_) if fs::read_dir(output).is_ok_and(|mut files| files.next().is_none()) => None,
            Some(_) => Some("exists and is not empty"),
        };
        if let Some(wrong) = wrong {
            return Err(format!("{}: {wrong}", output.display()));
        }
    }
    Ok(place)
}

/// Where the report goes.
#[derive(Clone, Copy)]
enum ReportPlace<'a> {
    Nowhere,
    StandardOutput,
    File(&'a Path),
    /// Into the output directory, under this name.
    Output(&'a OsStr),
}

/// Finds the place of the report; refuses one that would damage something.
fn report_place<'a>(
    checkpoint: &Checkpoint,
    output: &Path,
    report: Option<&'a Path>,
) -> Result<ReportPlace<'a>> {
    let Some(report) = report else {
        return Ok(ReportPlace::Nowhere);
    };
    if report == Path::new("-") {
        return Ok(ReportPlace::StandardOutput);
    }
    let refuse = |why: &str| Err(format!("{}: {why}", report.display()));
    if let (Some(directory), Some(folder), Some(name)) =
        (&checkpoint.directory, report.parent(), report.file_name())
        && resolve(folder).is_ok_and(|folder| folder == output)
    {
        let mut shards = checkpoint.shards.iter();
        let is_taken = shards.any(|shard| shard.path.file_name() == Some(name))
            || directory.others.iter().any(|file| file.starts_with(name))
            || [INDEX, CONFIG].iter().any(|file| name == *file);
        return if is_taken {
            refuse("the report would overwrite a file of the model")
        } else {
            Ok(ReportPlace::Output(name))
        };
    }
    let place = resolve(report)?;
    if place.starts_with(resolve(&checkpoint.path)?) || place == output {
        return refuse("the report would overwrite the checkpoint");
    }
    if fs::metadata(report).is_ok_and(|metadata| !metadata.is_file()) {
        return refuse("exists and is not a file");
    }
    Ok(ReportPlace::File(report))
}

/// The path without links and dots, of something that may not exist yet, in a folder that does.
fn resolve(path: &Path) -> Result<PathBuf> {
    if let Ok(path) = fs::canonicalize(path) {
        return Ok(path);
    }
    let fail = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let name = path
        .file_name()
        .ok_or_else(|| fail(&"not the name of a file"))?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let folder = fs::canonicalize(folder).map_err(|error| fail(&error))?;
    Ok(folder.join(name))
}

/// A pattern that matches nothing is most likely a slip.
fn note_unused_patterns(args: &Args, plans: &[ShardPlan<'_>]) {
    for pattern in &args.keep {
        let mut steps = plans.iter().flat_map(|plan| &plan.steps);
        if !steps.any(|step| pattern.matches(step.tensor.name)) {
            eprintln!("note: --keep {pattern} matches no tensor");
        }
    }
}

/// Bytes read, on a terminal.
fn progress_bar(checkpoint: &Checkpoint) -> ProgressBar {
    let bytes = checkpoint.shards.iter().map(|shard| shard.len()).sum();
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {eta:>4} {wide_msg}");
    ProgressBar::new(bytes)
        .with_style(style.expect("the template is valid"))
        .with_finish(ProgressFinish::AndClear)
}
