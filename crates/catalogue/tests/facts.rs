//! Every fact in the catalogue parses, has a source that exists, and refers to entries that exist.

use weft_catalogue::Catalogue;

#[test]
fn the_embedded_catalogue_parses() {
    let catalogue = Catalogue::embedded();
    assert!(catalogue.gpu("A100-SXM4-80GB").is_ok());
    let error = catalogue.gpu("a100-smx4-80gb").unwrap_err();
    assert_eq!(error.near.first().map(String::as_str), Some("a100-sxm4-80gb"));
}

#[test]
fn nvlink_3_carries_25_gigabytes_per_second_per_link_and_direction() {
    // 4 lanes x 50 Gb/s / 8 = 25 GB/s; 12 links make 300 GB/s.
    let link = Catalogue::embedded().link("nvlink3").unwrap();
    assert_eq!(link.rate(1).to_string(), "25 GB/s");
    assert_eq!(link.rate(12).to_string(), "300 GB/s");
}
