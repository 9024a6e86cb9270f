"""How results of commands are shown as text and as JSON documents."""
