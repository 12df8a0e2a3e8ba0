"""The parts of the page that an audit is reported on."""
