package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/getsops/sops/v3"
	"go.yaml.in/yaml/v3"
)

const secret = `# a comment
kind: Secret
apiVersion: v1
metadata: {name: db}
type: Opaque
stringData:
  password: hunter2
  # another comment
  port: 5432
`

func objects(t *testing.T, content []byte) []json.RawMessage {
	t.Helper()
	var found []json.RawMessage
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document map[string]any
		if decoder.Decode(&document) != nil {
			return found
		}
		raw, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, raw)
	}
}

func asked(call string, content []byte, found []json.RawMessage, identities ...string) Answer {
	files := []File{{Path: "db.yaml", Content: content}}
	return answer(Request{Call: call, Age: identities, Files: files, Objects: found})
}

func code(answer Answer) string {
	if answer.Problem == nil {
		return ""
	}
	return answer.Problem.Code
}

func TestAnObjectIsOpenedWhereItStands(t *testing.T) {
	identity := newIdentity(t)
	content := encrypt(t, secret, identity.Recipient().String())
	if bytes.Contains(content, []byte("hunter2")) {
		t.Fatal("nothing was encrypted")
	}
	found := objects(t, content)
	if problem := asked("verify", content, found, identity.String()).Problem; problem != nil {
		t.Fatal(problem)
	}
	opened := asked("open", nil, found, identity.String())
	raw, _ := json.Marshal(opened.Objects[0])
	want := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"stringData":{"password":"hunter2","port":5432},"type":"Opaque"}`
	if string(raw) != want {
		t.Fatalf("got %s", raw)
	}
	if strings.Join(opened.Values, " ") != "hunter2 5432" && strings.Join(opened.Values, " ") != "5432 hunter2" {
		t.Fatalf("got the values %v", opened.Values)
	}
}

func TestAnObjectMayBeRenamedAfterItWasEncrypted(t *testing.T) {
	identity := newIdentity(t)
	content := encrypt(t, secret, identity.Recipient().String())
	renamed := bytes.Replace(objects(t, content)[0], []byte(`"name":"db"`), []byte(`"name":"prod-db","namespace":"x"`), 1)
	if got := code(asked("verify", content, []json.RawMessage{renamed}, identity.String())); got != "" {
		t.Fatalf("got %q", got)
	}
}

func TestWhatWasChangedIsNotOpened(t *testing.T) {
	identity := newIdentity(t)
	key := identity.Recipient().String()
	content := encrypt(t, secret, key)
	object := string(objects(t, content)[0])
	for name, one := range map[string]struct {
		content []byte
		object  string
		want    string
	}{
		"a value of the file": {bytes.Replace(content, []byte("type: Opaque"), []byte("type: opaque"), 1), object, "mac"},
		"a document more":     {append(content[:len(content):len(content)], "---\nkind: ConfigMap\n"...), object, "mac"},
		"another kind":        {content, strings.Replace(object, `"Secret"`, `"ConfigMap"`, 1), "moved"},
		"another place":       {content, strings.Replace(object, `"password":`, `"shown":`, 1), "moved"},
		"another file":        {encrypt(t, secret, key), object, "unverified"},
		"no code":             {content, strings.Replace(object, `"mac":`, `"mac_":`, 1), "unverified"},
	} {
		t.Run(name, func(t *testing.T) {
			got := code(asked("verify", one.content, []json.RawMessage{[]byte(one.object)}, identity.String()))
			if got != one.want {
				t.Fatalf("got %q, expected %q", got, one.want)
			}
		})
	}
}

func TestACodeOfTheEncryptedValuesAloneProvesSecretsOnly(t *testing.T) {
	identity := newIdentity(t)
	partial := sops.Metadata{MACOnlyEncrypted: true}
	content := encryptWith(t, secret, partial, identity.Recipient().String())
	if got := code(asked("verify", content, objects(t, content), identity.String())); got != "" {
		t.Fatalf("got %q", got)
	}
	changed := bytes.Replace(content, []byte("kind: Secret"), []byte("kind: ConfigMap"), 1)
	if got := code(asked("verify", changed, objects(t, changed), identity.String())); got != "partial" {
		t.Fatalf("got %q", got)
	}
}

func TestAFileThatSOPSCannotReadIsNamed(t *testing.T) {
	identity := newIdentity(t)
	content := encrypt(t, secret, identity.Recipient().String())
	template := append([]byte("{{ if .Values.on }}\n"), content...)
	found := asked("verify", template, objects(t, content), identity.String())
	if code(found) != "unverified" || found.Problem.File != "db.yaml" {
		t.Fatalf("got %+v", found.Problem)
	}
}

func TestEachObjectOfAFileOfSeveralIsOpened(t *testing.T) {
	identity := newIdentity(t)
	both := secret + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {a: b1, b: c2}\n"
	content := encrypt(t, both, identity.Recipient().String())
	found := objects(t, content)
	if problem := asked("verify", content, found[1:], identity.String()).Problem; problem != nil {
		t.Fatal(problem)
	}
	opened := asked("open", nil, found, identity.String())
	raw, _ := json.Marshal(opened.Objects[1])
	if len(opened.Objects) != 2 || !bytes.Contains(raw, []byte(`{"a":"b1","b":"c2"}`)) {
		t.Fatalf("got %s", raw)
	}
}

func TestOneOfSeveralKeysIsEnough(t *testing.T) {
	one, other, stranger := newIdentity(t), newIdentity(t), newIdentity(t)
	content := encrypt(t, secret, one.Recipient().String(), other.Recipient().String())
	found := objects(t, content)
	if got := code(asked("open", nil, found, stranger.String(), other.String())); got != "" {
		t.Fatalf("got %q", got)
	}
	missing := asked("verify", content, found, stranger.String())
	if code(missing) != "missing" || len(missing.Problem.Recipients) != 2 {
		t.Fatalf("got %+v", missing.Problem)
	}
	if missing.Problem.Recipients[0] != "age "+one.Recipient().String() {
		t.Fatalf("got %v", missing.Problem.Recipients)
	}
}

func TestAKeyOfAServiceIsNeverAsked(t *testing.T) {
	object := `{"kind":"Secret","data":{"a":"ENC[AES256_GCM,data:x,iv:x,tag:x,type:str]"},"sops":{"mac":"ENC[x]",` +
		`"lastmodified":"2026-01-01T00:00:00Z","version":"3.9.0","kms":[{"arn":"arn:aws:kms:eu:1:key/x",` +
		`"created_at":"2026-01-01T00:00:00Z","enc":"eA=="}]}}`
	identity := newIdentity(t)
	if got := code(asked("open", nil, []json.RawMessage{[]byte(object)}, identity.String())); got != "unsupported" {
		t.Fatalf("got %q", got)
	}
}

func TestAKeyThatCannotBeReadIsNamedAndNotShown(t *testing.T) {
	for _, text := range []string{"AGE-SECRET-KEY-1BROKEN", "AGE-PLUGIN-X-1QQQ", ""} {
		found := answer(Request{Call: "open", Age: []string{text}})
		if code(found) != "key" || text != "" && strings.Contains(found.Problem.Message, text) {
			t.Fatalf("%q: got %+v", text, found.Problem)
		}
	}
}

func TestAFileForAKeyOfPGPIsOpened(t *testing.T) {
	entity, err := openpgp.NewEntity("Test", "", "test@example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	var private, public bytes.Buffer
	writer, _ := pgparmor.Encode(&private, openpgp.PrivateKeyType, nil)
	if err := entity.SerializePrivate(writer, nil); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if err := entity.Serialize(&public); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir() // where the library looks for the public key, to encrypt
	t.Setenv("GNUPGHOME", home)
	if err := os.WriteFile(filepath.Join(home, "pubring.gpg"), public.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	fingerprint := fmt.Sprintf("%X", entity.PrimaryKey.Fingerprint)
	content := encrypt(t, secret, fingerprint)
	found := objects(t, content)
	request := Request{Call: "verify", PGP: []string{private.String()}, Files: []File{{"db.yaml", content}}, Objects: found}
	if got := answer(request); got.Problem != nil {
		t.Fatal(got.Problem)
	}
	if opened := answer(Request{Call: "open", PGP: request.PGP, Objects: found}); len(opened.Values) != 2 {
		t.Fatalf("got %+v", opened.Problem)
	}
	missing := asked("open", nil, found, newIdentity(t).String())
	if code(missing) != "missing" || missing.Problem.Recipients[0] != "pgp "+fingerprint {
		t.Fatalf("got %+v", missing.Problem)
	}
}

func TestAKeyOfPGPThatIsLockedOrPublicIsRefused(t *testing.T) {
	entity, err := openpgp.NewEntity("Test", "", "test@example.org", nil)
	if err != nil {
		t.Fatal(err)
	}
	armoured := func(kind string, serialize func(io.Writer) error) string {
		var text bytes.Buffer
		writer, _ := pgparmor.Encode(&text, kind, nil)
		if err := serialize(writer); err != nil {
			t.Fatal(err)
		}
		writer.Close()
		return text.String()
	}
	public := armoured(openpgp.PublicKeyType, entity.Serialize)
	if err := entity.EncryptPrivateKeys([]byte("a passphrase"), nil); err != nil {
		t.Fatal(err)
	}
	locked := armoured(openpgp.PrivateKeyType, func(writer io.Writer) error {
		return entity.SerializePrivateWithoutSigning(writer, nil)
	})
	for text, want := range map[string]string{public: "public key only", locked: "passphrase", "text": "no armoured"} {
		if _, problem := readKeys(nil, []string{text}); problem == nil || !strings.Contains(problem.Message, want) {
			t.Fatalf("expected %q, got %+v", want, problem)
		}
	}
}
