package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/pgp"
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
	return encryptWith(t, plain, sops.Metadata{}, recipients...)
}

func encryptWith(t *testing.T, plain string, metadata sops.Metadata, recipients ...string) []byte {
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
	metadata.KeyGroups, metadata.EncryptedRegex = []sops.KeyGroup{group}, "^(data|stringData)$"
	metadata.Version, metadata.LastModified = "3.13.3", time.Now().UTC().Truncate(time.Second)
	tree := sops.Tree{Branches: branches, Metadata: metadata}
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
	if !strings.HasPrefix(recipient, "age1") {
		return pgp.NewMasterKeyFromFingerprint(recipient)
	}
	key, err := sopsage.MasterKeyFromRecipient(recipient)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", recipient, err))
	}
	return key
}
