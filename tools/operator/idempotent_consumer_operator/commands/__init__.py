"""One module for each command: what it takes, what it says, and with which code it ends."""
