"""trust: the certificates, known hosts and public keys of Argo CD's ConfigMaps, described."""
