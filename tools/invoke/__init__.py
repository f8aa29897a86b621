"""Run one function with one event on this machine, without Docker: the command behind `make invoke`."""
