"""What the page can do to a deployment, where it is served with controls: only for who has the operator's token, and by what the commands call.

`operator` says who may, `foresight` what would come of it, `confirming` says that in words, `editing` writes changes of boxes as update files,
and `acting` does it.
"""
