//! Colours on light and dark paper. Tests hold them to the contrast that WCAG 2.2 asks for (1.4.3 for
//! text, 1.4.11 for graphics) and to being told apart by readers who see no red or no green.

use std::fmt::Write as _;

/// One meaning, two colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shade {
    pub(crate) light: &'static str,
    pub(crate) dark: &'static str,
}

pub(crate) const PAPER: Shade = shade("#ffffff", "#171a21");
pub(crate) const INK: Shade = shade("#1d2330", "#e8eaf0");
/// Labels of ticks and other small print.
pub(crate) const SOFT: Shade = shade("#525b6b", "#a9b1c0");
pub(crate) const GRID: Shade = shade("#e2e6ee", "#2c323e");

/// Of the page around figures: links, and paper set apart from paper.
pub(crate) const LINK: Shade = shade("#0b45b0", "#8ab4ff");
pub(crate) const TINT: Shade = shade("#f4f6fa", "#1f232c");

/// For the layers in their order. The hues are near those of Okabe and Ito; their lightness differs
/// as well, which is what remains without red or green. More layers begin again, with other dashes.
pub(crate) const SERIES: [Shade; 6] = [
    shade("#0b45b0", "#4f8dfb"),
    shade("#d4470f", "#f58433"),
    shade("#0a877c", "#35d3c4"),
    shade("#cf4cbe", "#e05db5"),
    shade("#3d2c06", "#e2e25c"),
    shade("#675070", "#f4f4f8"),
];

/// Beside colour, so that a print in grey can still be read. The first layer is solid.
pub(crate) const DASHES: [&str; 6] = ["", "16 10", "3 8", "18 9 3 9", "8 9", "1 12"];

const fn shade(light: &'static str, dark: &'static str) -> Shade {
    Shade { light, dark }
}

/// The rules that turn a figure's colours for dark paper. Light ones stand in attributes, where
/// programs find them that read no style sheets.
pub(crate) fn dark_rules() -> String {
    let mut rules = String::new();
    let mut rule = |selector: &str, property: &str, shade: Shade| {
        write!(rules, ".nf {selector}{{{property}:{}}}", shade.dark).expect("strings take all");
    };
    rule(".paper", "fill", PAPER);
    rule(".ink", "fill", INK);
    rule(".soft", "fill", SOFT);
    rule(".halo", "stroke", PAPER);
    rule(".axis,.nf .rule", "stroke", INK);
    rule(".grid", "stroke", GRID);
    for (place, shade) in SERIES.into_iter().enumerate() {
        rule(&format!(".s{place}"), "stroke", shade);
        rule(&format!(".f{place}"), "fill", shade);
    }
    rules
}

/// Red, green and blue from 0 to 1.
pub(crate) type Rgb = [f64; 3];

/// From little to much: pale to deep blue, growing evenly darker, so that it reads without hue.
const RAMP: [Rgb; 5] = [
    [0.949, 0.965, 0.984],
    [0.741, 0.843, 0.929],
    [0.420, 0.667, 0.839],
    [0.129, 0.443, 0.698],
    [0.031, 0.188, 0.420],
];

/// The colour of a heat map at `share` of its range.
pub(crate) fn ramp(share: f64) -> Rgb {
    let last = RAMP.len() - 1;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position as usize).min(last - 1);
    let part = position - below as f64;
    std::array::from_fn(|c| RAMP[below][c] * (1.0 - part) + RAMP[below + 1][c] * part)
}

pub(crate) fn hex(colour: Rgb) -> String {
    let [red, green, blue] = colour.map(|part| (part * 255.0).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Black or white, whichever reads better on `paper`.
pub(crate) fn text_on(paper: Rgb) -> &'static str {
    let (black, white) = ([0.0; 3], [1.0; 3]);
    if contrast(paper, black) >= contrast(paper, white) {
        "#000000"
    } else {
        "#ffffff"
    }
}

/// The contrast ratio of WCAG 2.2, from 1 to 21.
fn contrast(one: Rgb, other: Rgb) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Relative luminance as WCAG 2.2 defines it.
fn luminance(colour: Rgb) -> f64 {
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn linear(part: f64) -> f64 {
    if part <= 0.04045 {
        part / 12.92
    } else {
        ((part + 0.055) / 1.055).powf(2.4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rgb(hex: &str) -> Rgb {
        let part = |at: usize| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        [part(1), part(3), part(5)]
    }

    /// The colours of one paper, the paper first.
    fn sides() -> [(Rgb, Rgb, Vec<Rgb>); 2] {
        let side = |pick: fn(Shade) -> &'static str| {
            let series = SERIES.into_iter().map(|shade| rgb(pick(shade))).collect();
            (rgb(pick(PAPER)), rgb(pick(SOFT)), series)
        };
        [side(|shade| shade.light), side(|shade| shade.dark)]
    }

    #[test]
    fn words_of_the_page_can_be_read() {
        for pick in [|shade: Shade| shade.light, |shade: Shade| shade.dark] {
            for text in [INK, SOFT, LINK] {
                for paper in [PAPER, TINT] {
                    let (text, paper) = (rgb(pick(text)), rgb(pick(paper)));
                    assert!(contrast(paper, text) >= 4.5, "{text:?} on {paper:?}");
                }
            }
        }
    }

    #[test]
    fn text_and_marks_stand_out_on_both_papers() {
        for (paper, soft, series) in sides() {
            assert!(contrast(paper, soft) >= 4.5);
            for colour in series {
                assert!(contrast(paper, colour) >= 3.5, "{colour:?}");
            }
        }
    }

    #[test]
    fn numbers_on_heat_maps_can_be_read() {
        for step in 0..=100 {
            let paper = ramp(f64::from(step) / 100.0);
            let text = rgb(text_on(paper));
            assert!(contrast(paper, text) >= 4.5, "{paper:?}");
        }
    }

    #[test]
    fn more_is_darker() {
        let steps: Vec<f64> = (0..=20)
            .map(|step| luminance(ramp(f64::from(step) / 20.0)))
            .collect();
        assert!(steps.windows(2).all(|pair| pair[0] > pair[1]), "{steps:?}");
    }

    /// Machado, Oliveira and Fernandes 2009, full severity, on linear light.
    const NO_RED: [Rgb; 3] = [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ];
    const NO_GREEN: [Rgb; 3] = [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ];

    fn seen(colour: Rgb, eye: [Rgb; 3]) -> Rgb {
        let light = colour.map(linear);
        eye.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>())
    }

    /// Oklab of linear light (Ottosson 2020), in which distances are about equally visible.
    fn oklab([red, green, blue]: Rgb) -> Rgb {
        let l = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue).cbrt();
        let m = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue).cbrt();
        let s = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue).cbrt();
        [
            0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
        ]
    }

    #[test]
    fn layers_are_told_apart_without_red_or_green() {
        for (_, _, series) in sides() {
            for eye in [NO_RED, NO_GREEN] {
                let seen: Vec<Rgb> = series.iter().map(|&c| oklab(seen(c, eye))).collect();
                for (place, one) in seen.iter().enumerate() {
                    for other in &seen[..place] {
                        let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
                        let distance = squares.sum::<f64>().sqrt();
                        assert!(distance > 0.09, "{distance} {series:?}");
                    }
                }
            }
        }
    }
}
