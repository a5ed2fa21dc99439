package main

import (
	"net/http"
)

// Libraries fall back to Go's default HTTP transport. The kernel refuses their sockets where it can;
// this refuses them everywhere, with a reason that people understand.
func init() { http.DefaultTransport = noNetwork{} }

type noNetwork struct{}

func (noNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, failure(RemoteFile, "%s is remote; rendering has no network: copy the file into the repository",
		withoutPassword(request.URL.Redacted()))
}
