//! `weft schedule` as a user sees it: a study, its document, and what it refuses.

#![allow(clippy::unwrap_used, reason = "what is not as expected must stop the test")]
#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

mod common;
mod schema;

use common::{refused, stdout};
use schema::checked;
use serde_json::Value;

const STUDY: [&str; 4] = ["schedule", "examples/openb", "--study", "fgd"];

fn json(more: &[&str]) -> Value {
    checked("schedule.json", &stdout(&[&STUDY[..], &["--format", "json"], more].concat()))
}

#[test]
fn a_study_is_the_same_each_time_and_has_all_policies() {
    let found = json(&["--seeds", "2"]);
    assert_eq!(found, json(&["--seeds", "2"]));
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 7 * 12);
    let at = |policy: &str, percent: u64| {
        let row = rows.iter().find(|row| row["policy"] == policy && row["arrived_percent"] == percent);
        row.unwrap()["unallocated_percent"].as_f64().unwrap()
    };
    assert!(at("headroom", 100) < at("random", 100));
    assert!(at("random", 130) <= at("random", 100), "nothing leaves");
    let mean =
        rows[0]["by_seed"].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).sum::<f64>() / 2.0;
    assert!((mean - rows[0]["unallocated_percent"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn seeds_and_what_is_learnt_matter() {
    let all = json(&["--seeds", "2", "--policy", "headroom"]);
    assert_ne!(all["rows"], json(&["--seeds", "2", "--policy", "headroom", "--first-seed", "7"])["rows"]);
    let half = json(&["--seeds", "2", "--policy", "headroom", "--learn", "half"]);
    assert_eq!((&half["learnt_from"], &all["learnt_from"]), (&"half".into(), &"all".into()));
    assert_ne!(all["rows"], half["rows"]);
}

#[test]
fn what_is_not_there_is_named() {
    let (code, error) = refused(&[&STUDY[..], &["--policy", "fdg"]].concat(), b"");
    assert_eq!(code, 2);
    assert!(error.contains("no-such-policy") && error.contains("best-fit"), "{error}");
    let (code, error) = refused(&["schedule", "examples/topo", "--study", "fgd"], b"");
    assert_eq!(code, 4);
    assert!(error.contains("openb_node_list_gpu_node.csv"), "{error}");
    let (code, error) = refused(&[&STUDY[..], &["--trace", "cpu999"]].concat(), b"");
    assert_eq!(code, 4);
    assert!(error.contains("openb_pod_list_cpu999.csv"), "{error}");
}

const PHILLY: [&str; 4] = ["schedule", "examples/philly", "--study", "philly"];
const SCENARIOS: [&str; 4] = ["routing", "balancing", "priority", "fail-over"];

fn scenario(name: &str) -> String {
    format!("examples/schedule/{name}.toml")
}

fn run_json(name: &str, more: &[&str]) -> Value {
    let file = scenario(name);
    checked("schedule-run.json", &stdout(&[&["schedule", &file, "--format", "json"], more].concat()))
}

fn of_policy<'v>(found: &'v Value, policy: &str) -> &'v Value {
    found["runs"].as_array().unwrap().iter().find(|run| run["policy"] == policy).unwrap()
}

fn row<'v>(run: &'v Value, name: &str) -> &'v Value {
    run["rows"].as_array().unwrap().iter().find(|row| row["row"] == name).unwrap()
}

fn story(run: &Value) -> Vec<&str> {
    run["story"].as_array().unwrap().iter().map(|beat| beat["what"].as_str().unwrap()).collect()
}

/// Groups of nodes on which jobs of a row were, and how often.
fn places(row: &Value) -> Vec<(&str, u64)> {
    let places = row["nodes"].as_array().unwrap().iter();
    places.map(|place| (place["group"].as_str().unwrap(), place["stays"].as_u64().unwrap())).collect()
}

#[test]
fn the_philly_study_has_each_policy_size_and_locality_for_each_cluster() {
    let args = [&PHILLY[..], &["--format", "json", "--policy", "best-fit", "--policy", "weft"]].concat();
    let found = checked("schedule-philly.json", &stdout(&args));
    // Two policies, two sizes, two localities, three clusters and all of them together.
    assert_eq!(found["rows"].as_array().unwrap().len(), 2 * 2 * 2 * 4);
    assert_eq!(found["clusters"][0]["name"], "vision");
    let mean = |locality: &str| {
        let rows = found["rows"].as_array().unwrap();
        let is_wanted = |row: &&Value| {
            row["policy"] == "best-fit"
                && row["size"] == 0.8
                && row["locality"] == locality
                && row["cluster"] == "all"
        };
        rows.iter().find(is_wanted).unwrap()["large"]["mean_s"].as_f64().unwrap()
    };
    assert!(mean("required") >= mean("relaxed"));
    for row in found["rows"].as_array().unwrap() {
        assert_eq!(row["unended"], 0, "{row}");
    }
}

#[test]
fn wrong_rows_of_a_trace_are_said_and_the_others_played() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("philly-wrong");
    std::fs::create_dir_all(&folder).unwrap();
    let text = "timestamp,duration,num_gpus,cluster\n2024-03-04 08:00:00,60,1,a\n2024-03-04 8h,60,1,a\n";
    let path = folder.join("philly.csv");
    std::fs::write(&path, text).unwrap();
    let args = ["schedule", path.to_str().unwrap(), "--study", "philly", "--policy", "fifo"];
    let output = common::run(&args, b"");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("trace-malformed") && said.contains("philly.csv:3:1"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 jobs of 1 virtual clusters"));
    std::fs::write(&path, "timestamp,duration\n").unwrap();
    let (code, error) = refused(&args, b"");
    assert_eq!(code, 3);
    assert!(error.contains("num_gpus"), "{error}");
}

#[test]
fn work_is_routed_to_what_it_is_for() {
    let found = run_json("routing", &[]);
    for run in found["runs"].as_array().unwrap() {
        assert_eq!(places(row(run, "pretrain")), [("h100", 1)]);
        assert_eq!(places(row(run, "chat")), [("tpu", 6)]);
        assert_eq!(places(row(run, "frontend")), [("host", 9)]);
        // Two TPUs are left, then the eight L4, then GPUs of training.
        assert_eq!(places(row(run, "burst")), [("l4", 8), ("h100", 4), ("tpu", 2)]);
    }
}

#[test]
fn balancing_loses_less_to_a_fault_and_packing_keeps_a_node_free() {
    let found = run_json("balancing", &[]);
    let (spread, packed) = (of_policy(&found, "spread"), of_policy(&found, "best-fit"));
    assert_eq!(
        (&row(spread, "replica")["broken"], &row(packed, "replica")["broken"]),
        (&4.into(), &8.into())
    );
    assert_eq!(packed["totals"]["busiest_node_jobs"], 8);
    assert_eq!(row(packed, "train")["wait_mean_s"], 0.0);
    // From 1 h on: four replicas on each node. Node 0 is well again at 4 h, and empty.
    assert_eq!(row(spread, "train")["wait_mean_s"], 3.0 * 3600.0);
    assert!(story(spread).iter().any(|what| what.contains("needs 8 GPUs")));
}

#[test]
fn an_important_job_puts_out_the_fewest_that_empty_one_node() {
    let found = run_json("priority", &[]);
    let (fifo, priority) = (of_policy(&found, "fifo"), of_policy(&found, "priority"));
    assert!(row(fifo, "release")["wait_mean_s"].as_f64().unwrap() > 3.0 * 3600.0);
    assert!(row(priority, "release")["wait_mean_s"].as_f64().unwrap() < 60.0);
    assert_eq!(row(priority, "sweep")["put_out"], 4);
    assert_eq!(row(priority, "bystander")["put_out"], 0);
    assert!(story(priority).iter().any(|what| what.contains("make room")));
}

#[test]
fn a_job_fails_over_to_the_spare_node_and_loses_no_more_than_since_its_checkpoint() {
    let found = run_json("fail-over", &[]);
    for run in found["runs"].as_array().unwrap() {
        let job = run["jobs"].as_array().unwrap().iter().find(|job| job["job"] == "pretrain").unwrap();
        assert_eq!(job["state"], "done");
        assert_eq!(job["broken"], 2);
        // Two faults, each less than a checkpoint apart from the last.
        assert!(job["lost_s"].as_f64().unwrap() < 2.0 * 30.0 * 60.0, "{job}");
        assert!(story(run).iter().any(|what| what.contains("breaks")));
    }
}

#[test]
fn every_example_is_a_whole_report_in_each_form() {
    for name in SCENARIOS {
        let file = scenario(name);
        let form = |format: &str| stdout(&["schedule", &file, "--format", format]);
        let document = run_json(name, &[]);
        let runs = document["runs"].as_array().unwrap();
        let text = form("text");
        assert!(
            text.contains(document["explain"].as_str().unwrap()) && text.contains("The story of"),
            "{text}"
        );
        let jobs: usize = runs.iter().map(|run| run["jobs"].as_array().unwrap().len()).sum();
        assert_eq!(form("csv").lines().count(), jobs + 1);
        for page in [form("svg"), form("html")] {
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            let tree = roxmltree::Document::parse_with_options(&page, options).unwrap();
            let lines = tree.descendants().filter(|node| node.tag_name().name() == "path").count();
            assert_eq!(lines, 3 * runs.len(), "a line for each policy in each plot");
            assert!(!page.contains("<script") && !page.replace("http://www.w3.org/", "").contains("http"));
        }
    }
}

#[test]
fn what_is_wrong_with_a_scenario_is_shown_where_it_stands() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schedule-wrong");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("s.toml");
    let text = std::fs::read_to_string(common::root().join(scenario("priority"))).unwrap();
    std::fs::write(&path, text.replace("preemptible = false", "preemptable = false")).unwrap();
    let (code, error) = refused(&["schedule", path.to_str().unwrap()], b"");
    assert_eq!(code, 3);
    assert!(error.contains("schedule-scenario") && error.contains("did you mean `preemptible`?"), "{error}");
    let file = scenario("priority");
    let (code, error) = refused(&["schedule", &file, "--explain", "releas"], b"");
    assert_eq!(code, 2);
    assert!(error.contains("no-such-job") && error.contains("did you mean release?"), "{error}");
    let (code, error) = refused(&["schedule", &file, &file], b"");
    assert_eq!(code, 2);
    assert!(error.contains("schedule-options"), "{error}");
    let (code, error) = refused(&["schedule", &file, "--policy", "eassy"], b"");
    assert_eq!(code, 2);
    assert!(error.contains("did you mean `easy`?"), "{error}");
}

#[test]
fn tables_of_jobs_stand_beside_a_scenario() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schedule-tables");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let nodes = write(
        "nodes.toml",
        "[[nodes]]\nname = \"n\"\ncount = 2\ngpu = \"l4\"\ngpus = 4\ncpus = 32\nmemory = \"64 GiB\"\n",
    );
    let jobs = write("jobs.csv", "job,submit,duration,gpus,count\nwide,0 s,1 h,4,3\nbad,1,1 h,1,1\n");
    let output = common::run(&["schedule", &nodes, &jobs, "--policy", "fifo", "--format", "json"], b"");
    let found = checked("schedule-run.json", &String::from_utf8(output.stdout).unwrap());
    // Two nodes of four GPUs: the third of three jobs waits for an hour.
    assert_eq!(row(&found["runs"][0], "wide")["wait_mean_s"], 1200.0);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("jobs.csv:3:5"), "{said}");
    let spec = write(
        "spec.csv",
        "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n2,2,4,40,256\n",
    );
    let trace = write(
        "trace.csv",
        "job_id,num_gpu,submit_time,duration,model_name\n0,4,0,100,vgg19\n1,12,5,50,vgg11\n",
    );
    let args = ["schedule", &spec, &trace, "--policy", "fifo", "--format", "json"];
    let found = checked("schedule-run.json", &stdout(&args));
    assert_eq!((&found["nodes"], &found["gpus"]), (&4.into(), &16.into()));
    assert_eq!(found["runs"][0]["totals"]["done"], 2);
}
