"""AWS logins of destination clusters (`awsAuthConfig`): signature, credentials and token."""
