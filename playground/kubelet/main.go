// The kubelet's part in `kubectl exec`, for a cluster whose nodes are played by kwok: it runs the command on this
// machine, in a pseudo terminal, and talks to the API server with the code of the real kubelet.
//
// Only who holds the API server's client certificate is served: whoever else reaches the port gets no shell.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle = 4 * time.Hour
	// A pod whose name begins so has no shell at all, as an image made from scratch.
	withoutShell = "no-shell"
)

// What containers of the playground can run.
var commands = []string{"sh", "bash"}

type runner struct{ folder string }

func (r runner) ExecInContainer(
	ctx context.Context, pod string, _ string, _ string, command []string, in io.Reader, out, _ io.WriteCloser,
	_ bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if strings.HasPrefix(pod, withoutShell) || len(command) != 1 || !slices.Contains(commands, command[0]) {
		return errors.New(`exec: "` + strings.Join(command, " ") + `": executable file not found in $PATH`)
	}
	started := exec.CommandContext(ctx, command[0])
	started.Dir = r.folder
	started.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.folder, "TERM=xterm", "PS1=$ ", "POD=" + pod}
	started.Cancel = func() error { return syscall.Kill(-started.Process.Pid, syscall.SIGKILL) }
	terminal, err := pty.Start(started)
	if err != nil {
		return err
	}
	defer func() { _ = terminal.Close() }()
	go resized(terminal, resize)
	go func() { _, _ = io.Copy(terminal, in); hangUp(started) }()
	_, _ = io.Copy(out, terminal)
	return exitOf(started.Wait())
}

// Who leaves takes the terminal away: a shell may clean up, and is killed where it stays.
func hangUp(started *exec.Cmd) {
	_ = syscall.Kill(-started.Process.Pid, syscall.SIGHUP)
	time.Sleep(2 * time.Second)
	_ = started.Cancel()
}

func resized(terminal *os.File, resize <-chan remotecommand.TerminalSize) {
	for size := range resize {
		_ = pty.Setsize(terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
	}
}

// The exit code as the kubelet reports it.
func exitOf(err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return utilexec.CodeExitError{Err: err, Code: ended.ExitCode()}
	}
	return err
}

func main() {
	address := flag.String("address", "", "where to listen")
	certificate := flag.String("tls-cert-file", "", "of this kubelet")
	key := flag.String("tls-private-key-file", "", "of this kubelet")
	authority := flag.String("client-ca-file", "", "who signed the API server's client certificate")
	user := flag.String("user", "", "the name in that certificate")
	folder := flag.String("folder", "", "where commands begin")
	flag.Parse()
	pem, err := os.ReadFile(*authority)
	if err != nil {
		log.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(pem)
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", serve(*user, runner{folder: *folder}))
	server := http.Server{
		Addr:              *address,
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known,
			NextProtos: []string{"http/1.1"},
		},
	}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}

func serve(user string, run runner) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.PeerCertificates[0].Subject.CommonName != user {
			http.Error(w, "only the API server is served", http.StatusForbidden)
			return
		}
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		pod, container := r.PathValue("pod"), r.PathValue("container")
		remotecommand.ServeExec(
			w, r, run, pod, "", container, r.URL.Query()["command"], options,
			idle, 30*time.Second, remotecommand.SupportedStreamingProtocols,
		)
	}
}
