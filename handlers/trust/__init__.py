"""Trust: certificates, known hosts and public keys as Argo CD's ConfigMaps hold them, described."""
