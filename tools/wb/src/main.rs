//! `wbg MODULE NAME FOLDER`: the glue of a compiled module, for the web, into a folder. The released command line does
//! the same, and takes three times as long to build: it brings a test runner with a server along.

use std::env::args;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let [module, name, folder] = args().skip(1).collect::<Vec<_>>().try_into().unwrap_or_default();
    let mut bindgen = Bindgen::new();
    let made = bindgen.web(true).and_then(|bindgen| {
        bindgen
            .input_path(module)
            .out_name(&name)
            .typescript(true)
            .omit_default_module_path(true)
            .remove_producers_section(true)
            .generate(folder)
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
