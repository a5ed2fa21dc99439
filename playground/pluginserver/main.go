// The server that stands before a config management plugin: Argo CD's own, so that tests meet what runs in a cluster.
package main

import (
	"os"

	"github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
)

func main() {
	if commands.NewCommand().Execute() != nil {
		os.Exit(1)
	}
}
