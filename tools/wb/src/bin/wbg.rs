//! `wasm-bindgen` as a pinned library call; the name `wasm-bindgen` itself is refused by rustc for this crate.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(std::env::args_os()).map(|_| ())
}
