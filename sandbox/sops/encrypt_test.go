package main

import (
	"fmt"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
	yamlstore "github.com/getsops/sops/v3/stores/yaml"
)

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// encrypt does what `sops --encrypt --encrypted-regex '^(data|stringData)$'` does.
func encrypt(t *testing.T, plain string, recipients ...string) []byte {
	t.Helper()
	store := yamlstore.NewStore(&config.YAMLStoreConfig{})
	branches, err := store.LoadPlainFile([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	var group sops.KeyGroup
	for _, one := range recipients {
		group = append(group, masterKey(t, one))
	}
	tree := sops.Tree{Branches: branches, Metadata: sops.Metadata{
		KeyGroups: []sops.KeyGroup{group}, EncryptedRegex: "^(data|stringData)$", Version: "3.13.3",
		LastModified: time.Now().UTC().Truncate(time.Second),
	}}
	services := []keyservice.KeyServiceClient{keyservice.NewLocalClient()}
	key, errs := tree.GenerateDataKeyWithKeyServices(services)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	cipher := aes.NewCipher()
	mac, err := tree.Encrypt(key, cipher)
	if err != nil {
		t.Fatal(err)
	}
	tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(
		mac, key, tree.Metadata.LastModified.Format(time.RFC3339))
	if err != nil {
		t.Fatal(err)
	}
	content, err := store.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func masterKey(t *testing.T, recipient string) keys.MasterKey {
	t.Helper()
	key, err := sopsage.MasterKeyFromRecipient(recipient)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", recipient, err))
	}
	return key
}
