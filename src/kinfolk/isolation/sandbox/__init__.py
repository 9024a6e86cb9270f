"""The sandbox of untrusted policies: bubblewrap around their fork server, filters around each."""
