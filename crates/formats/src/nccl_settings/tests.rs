use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Report};
use crate::format::Source;
use crate::{Reading, read};

fn reading(text: &str) -> Reading {
    read(&Source::file("t", text), Catalogue::embedded(), None)
}

fn settings(text: &str) -> Vec<(String, String)> {
    let of = |report: &Report| -> Vec<(String, String)> {
        let pair = |record: &crate::evidence::Record| {
            (record.subject.clone(), record.text("value").unwrap_or("").to_owned())
        };
        report.records.iter().map(pair).collect()
    };
    let found = reading(text).evidence.into_iter().filter_map(|evidence| {
        let Evidence::Report(report) = evidence.value else { return None };
        (report.format == "nccl-settings").then(|| of(&report))
    });
    found.flatten().collect()
}

fn one(text: &str) -> (String, String) {
    let found = settings(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found[0].clone()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn settings_are_read_however_they_are_written() {
    assert_eq!(one("export NCCL_DEBUG=INFO\n"), pair("NCCL_DEBUG", "INFO"));
    assert_eq!(one("[1,0]<stdout>:NCCL_IB_HCA=mlx5\n"), pair("NCCL_IB_HCA", "mlx5"));
    assert_eq!(one("declare -x UCX_TLS=\"rc,cuda_copy\"\n"), pair("UCX_TLS", "rc,cuda_copy"));
    assert_eq!(one("setenv NCCL_NTHREADS 256\n"), pair("NCCL_NTHREADS", "256"));
    assert_eq!(one("+ export FI_PROVIDER=efa\n"), pair("FI_PROVIDER", "efa"));
    assert_eq!(
        settings("mpirun -np 8 -x NCCL_DEBUG=INFO -x PATH -x NCCL_ALGO=Ring,Tree ./train\n"),
        [pair("NCCL_DEBUG", "INFO"), pair("NCCL_ALGO", "Ring,Tree")]
    );
    assert_eq!(
        settings("NCCL_DEBUG=INFO CUDA_VISIBLE_DEVICES=0,1 ./train --epochs=3\n"),
        [pair("NCCL_DEBUG", "INFO"), pair("CUDA_VISIBLE_DEVICES", "0,1")]
    );
}

#[test]
fn prose_and_log_lines_are_no_settings() {
    for text in [
        "I tried NCCL_DEBUG=INFO but it hangs\n",
        "h:1:2 [0] NCCL INFO Dmabuf feature disabled without NCCL_ENABLE_DMABUF_SUPPORT=1\n",
        "if (getenv(\"NCCL_DEBUG\") == NULL) return 0;\n",
    ] {
        assert_eq!(settings(text), [], "{text}");
    }
}

#[test]
fn an_environment_keeps_its_secrets() {
    let text = "$ env\nSHELL=/bin/bash\nAPI_TOKEN=hunter2\nNCCL_IB_HCA=mlx5\nPWD=/root\nHOME=/root\nLANG=C\nPATH=/bin\n\nthanks\n";
    assert_eq!(settings(text), [pair("NCCL_IB_HCA", "mlx5")]);
    let said: Vec<String> = reading(text).diagnostics.iter().map(ToString::to_string).collect();
    assert!(said.iter().all(|text| !text.contains("hunter2")), "{said:#?}");
    // SHELL, API_TOKEN, PWD, HOME, LANG and PATH.
    assert!(said.iter().any(|text| text.contains("6 lines of an environment")), "{said:#?}");
}

#[test]
fn a_configuration_file_has_comments() {
    let text =
        "# site settings\nNCCL_IB_HCA=^mlx5_bond_0\n\n# no InfiniBand on this partition\nNCCL_IB_DISABLE=1\n";
    assert_eq!(settings(text), [pair("NCCL_IB_HCA", "^mlx5_bond_0"), pair("NCCL_IB_DISABLE", "1")]);
    assert_eq!(reading(text).diagnostics, []);
}

#[test]
fn slips_and_impossible_values_are_named() {
    let codes = |text: &str| -> Vec<(&'static str, Option<String>)> {
        reading(text).diagnostics.into_iter().map(|finding| (finding.code.name, finding.hint)).collect()
    };
    let hint = |text: &str| codes(text).pop().and_then(|(_, hint)| hint).unwrap_or_default();
    assert!(hint("NCCL_IB_GID_IDX=3\nNCCL_DEBUG=INFO\n").contains("NCCL_IB_GID_INDEX"));
    assert!(hint("NCCL_SOKET_IFNAME=eth0\n").contains("NCCL_SOCKET_IFNAME"));
    assert!(hint("NCCL_P2P_LEVEL=FOO\n").contains("PIX"));
    assert!(hint("NCCL_IB_DISABLE=yes\n").contains("whole number"));
    assert_eq!(codes("NCCL_ALGO=allreduce:^tree\nNCCL_PROTO=simple\nNCCL_P2P_LEVEL=sys\n"), []);
    assert_eq!(codes("NCCL_SOMETHING_OF_OURS=1\n"), []);
}
