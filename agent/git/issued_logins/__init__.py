"""issued_logins: logins that a host issues for about an hour, in exchange for a key of a Secret."""
