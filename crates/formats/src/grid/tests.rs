//! Shapes of grids, each with what is found in it.

use super::*;
use crate::format::Source;
use crate::text;
use crate::words::Word;

/// Each grid as its columns, then each row: `GPU0: X PIX ?`, with `_` for a cell that is not there.
fn shown(text_of: &str) -> Vec<String> {
    let source = Source::file("t", text_of);
    let lines = text::lines(&source);
    let cell = |cell: &Option<Found<'_>>| match cell.map(|cell| cell.word) {
        None => "_".to_owned(),
        Some(None) => "?".to_owned(),
        Some(Some(Word::Own)) => "X".to_owned(),
        Some(Some(Word::Class(class))) => class.to_string(),
        Some(Some(Word::Access(access))) => access.word().to_owned(),
    };
    let mut found = Vec::new();
    for grid in scan(&lines) {
        found.push(grid.columns.iter().map(|column| column.label).collect::<Vec<_>>().join(" "));
        for row in &grid.rows {
            found.push(format!(
                "{}: {}",
                row.label,
                row.cells.iter().map(cell).collect::<Vec<_>>().join(" ")
            ));
        }
    }
    found
}

fn check(text: &str, wanted: &[&str]) {
    assert_eq!(shown(text), wanted, "{text}");
}

#[test]
fn one_gpu_is_a_matrix() {
    check("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n", &["GPU0", "GPU0: X"]);
    check("\tGPU0\nGPU0\t X \n", &["GPU0", "GPU0: X"]);
}

#[test]
fn a_header_alone_still_names_the_devices() {
    check("\tGPU0\tGPU1\tNIC0\tCPU Affinity\n", &["GPU0 GPU1 NIC0"]);
}

#[test]
fn prose_and_other_tables_are_no_matrix() {
    for text in [
        "GPU0 and GPU1 are slow, GPU2 X is not",
        "P2P between GPU0 GPU1 works",
        "GPU0 OK\nGPU1 OK\n",
        "       GPU0         GPU1\nGPU0   0            15\nGPU1   15           0\n",
        "       GPU0         GPU1\nGPU0   0            XGMI\nGPU1   XGMI         0\n",
        "GPU0",
    ] {
        check(text, &[]);
    }
}

#[test]
fn rows_without_a_header_are_taken_by_their_own_order() {
    check(
        "GPU0  X  NV4 SYS\nGPU1 NV4  X  SYS\nNIC0 SYS SYS  X\n",
        &["GPU0 GPU1 NIC0", "GPU0: X NV4 SYS", "GPU1: NV4 X SYS", "NIC0: SYS SYS X"],
    );
}

#[test]
fn a_header_that_was_cut_is_completed_from_the_rows() {
    check(
        "     GPU0 GPU1\nGPU0  X  NV4 SYS\nGPU1 NV4  X  SYS\nNIC0 SYS SYS  X\n",
        &["GPU0 GPU1 NIC0", "GPU0: X NV4 SYS", "GPU1: NV4 X SYS", "NIC0: SYS SYS X"],
    );
}

#[test]
fn a_header_on_two_lines_is_one() {
    check(
        "     GPU0 GPU1\nGPU2 NIC0 CPU Affinity\nGPU0  X   SYS\nSYS PIX 0-7\nGPU1 SYS   X\nSYS NODE 0-7\n",
        &["GPU0 GPU1 GPU2 NIC0", "GPU0: X SYS SYS PIX", "GPU1: SYS X SYS NODE"],
    );
}

#[test]
fn noise_before_labels_is_skipped() {
    for noise in ["[0] ", "[1,0]<stdout>:", "pod-x: ", "> ", "12:34:56 ", "3: ", "// "] {
        let text = format!("{noise}     GPU0    NIC0\n{noise}GPU0  X      PIX\n{noise}NIC0 PIX      X\n");
        check(&text, &["GPU0 NIC0", "GPU0: X PIX", "NIC0: PIX X"]);
    }
}

#[test]
fn labels_with_a_colon_or_glued_to_a_cell_are_read() {
    check("  GPU0 GPU1\nGPU0: X NV4\nGPU1: NV4 X\n", &["GPU0 GPU1", "GPU0: X NV4", "GPU1: NV4 X"]);
    check("\tGPU0\tGPU1\nGPU0X\tNV4\nGPU1NV4\tX\n", &["GPU0 GPU1", "GPU0: X NV4", "GPU1: NV4 X"]);
}

#[test]
fn gaps_are_placed_by_tabs_by_bars_and_by_the_screen() {
    check("\tGPU0\tGPU1\tGPU2\nGPU0\t X \t\tSYS\n", &["GPU0 GPU1 GPU2", "GPU0: X _ SYS"]);
    check(
        "| | GPU0 | GPU1 | GPU2 |\n|--|--|--|--|\n| GPU2 | | SYS | X |\n",
        &["GPU0 GPU1 GPU2", "GPU2: _ SYS X"],
    );
    check(
        "      GPU0  GPU1  GPU2  GPU3\nGPU1  SYS    X          SYS\n",
        &["GPU0 GPU1 GPU2 GPU3", "GPU1: SYS X _ SYS"],
    );
    check(
        "      GPU0  GPU1  GPU2  GPU3\nGPU1  SYS    X    SYS\n",
        &["GPU0 GPU1 GPU2 GPU3", "GPU1: SYS X SYS _"],
    );
}

#[test]
fn the_diagonal_places_cells_where_alignment_is_lost() {
    check("GPU0 GPU1 GPU2 GPU3\nGPU2 SYS SYS X\n", &["GPU0 GPU1 GPU2 GPU3", "GPU2: SYS SYS X _"]);
}

#[test]
fn cells_that_mean_nothing_are_kept_as_unknown() {
    check(
        "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tN/A\tSYS\t0-7\nGPU1\tPI\t X \tSYS\t0-7\n",
        &["GPU0 GPU1 GPU2", "GPU0: X ? SYS", "GPU1: ? X SYS"],
    );
}

#[test]
fn a_command_and_its_output_on_one_line_are_both_seen() {
    check(
        "$ nvidia-smi topo -m     GPU0 GPU1\nGPU0  X  SYS\nGPU1 SYS  X\n",
        &["GPU0 GPU1", "GPU0: X SYS", "GPU1: SYS X"],
    );
}

#[test]
fn two_grids_are_two() {
    check(
        "  GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n  GPU0 GPU1\nGPU0 X OK\nGPU1 OK X\n",
        &["GPU0 GPU1", "GPU0: X SYS", "GPU1: SYS X", "GPU0 GPU1", "GPU0: X OK", "GPU1: OK X"],
    );
}

#[test]
fn affinity_may_come_first_last_cut_or_not_at_all() {
    let affinity = |text_of: &str| {
        let source = Source::file("t", text_of);
        let lines = text::lines(&source);
        let grids = scan(&lines);
        let affinity = grids[0].rows[0].affinity.clone();
        [affinity.cpus, affinity.numa, affinity.gpu_numa].map(Option::unwrap_or_default).join(";")
    };
    let titles = "CPU Affinity\tNUMA Affinity\tGPU NUMA ID";
    assert_eq!(affinity(&format!("\tGPU0\t{titles}\nGPU0\t X \t0-7,16-23\t0\t\tN/A\n")), "0-7,16-23;0;N/A");
    assert_eq!(affinity(&format!("\tGPU0\t{titles}\nGPU0\t X \t0-7\t\t\tN/A\n")), "0-7;;N/A");
    assert_eq!(affinity(&format!("\tGPU0\t{titles}\nGPU0\t X \t0-71\t0,3-9\t\t2\n")), "0-71;0,3-9;2");
    assert_eq!(affinity("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7, 16-23\n"), "0-7,16-23;;");
    assert_eq!(affinity("\tGPU0\tNUMA \nGPU0\t X \t1\n"), ";1;");
    assert_eq!(
        affinity("CPU Affinity | NUMA Affinity | | GPU0\n--|--|--|--\n0-7 | 3 | GPU0 | X\n"),
        "0-7;3;"
    );
}
