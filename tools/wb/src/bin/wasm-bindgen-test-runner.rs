//! The runner that cargo starts for each test binary built for wasm32.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os()).map(|_| ())
}
