module.exports = {
  rootDir: __dirname,
  testMatch: ["<rootDir>/wasm-tests/fake-timers/*.test.cjs"],
  modulePathIgnorePatterns: ["<rootDir>/target/"],
  transform: {}
}
