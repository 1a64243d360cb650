//! A relay as a program of its own, for tests.

fn main() -> std::io::Result<()> {
    barograph_platform_namespace::relay_main(std::env::args().skip(1))
}
