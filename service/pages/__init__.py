"""The dashboard's files, as `make web` built them; the pages themselves live in web/."""
