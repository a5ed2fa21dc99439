// Package confinement takes rights away from this process: memory, system calls and the network.
package confinement

import (
	"net/http"

	"plumbline.dev/sandbox/worker/internal/wire"
)

// Libraries fall back to Go's default HTTP transport. The kernel refuses their sockets where it can;
// this transport refuses them everywhere, with a reason that people understand.
func init() { http.DefaultTransport = noNetwork{} }

type noNetwork struct{}

func (noNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, wire.NewFailure(wire.RemoteFile, "%s is remote; rendering has no network: copy the file into the repository",
		wire.WithoutPassword(request.URL.Redacted()))
}
