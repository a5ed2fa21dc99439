package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/keyservice"
)

// dataKeyBytes is more than a data key has.
const dataKeyBytes = 1 << 10

// mostRecipients are named in a problem.
const mostRecipients = 10

var errUnsupported = errors.New("only keys of age and PGP are used")

// Keys opens data keys. It is the key service of the library, so that the library asks no other one: no cloud, no
// gRPC, no file and no agent of GnuPG.
type Keys struct {
	identities []age.Identity
	ring       openpgp.EntityList
}

func readKeys(ageKeys, pgpKeys []string) (*Keys, *Problem) {
	keys := &Keys{}
	for number, text := range ageKeys {
		found, err := age.ParseIdentities(strings.NewReader(text))
		if err != nil {
			return nil, badKey("age", number, "it has lines that are no AGE-SECRET-KEY")
		}
		keys.identities = append(keys.identities, found...)
	}
	for number, text := range pgpKeys {
		found, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
		if err != nil {
			return nil, badKey("PGP", number, "it is no armoured private key")
		}
		for _, one := range found {
			if one.PrivateKey == nil {
				return nil, badKey("PGP", number, "it has a public key only")
			}
			if isLocked(one) {
				return nil, badKey("PGP", number, "it has a passphrase; export it without one")
			}
		}
		keys.ring = append(keys.ring, found...)
	}
	return keys, nil
}

func badKey(kind string, number int, why string) *Problem {
	return &Problem{Code: "key", Object: none, Message: fmt.Sprintf("key %d of %s cannot be used: %s", number+1, kind, why)}
}

func isLocked(entity *openpgp.Entity) bool {
	for _, one := range entity.Subkeys {
		if one.PrivateKey != nil && one.PrivateKey.Encrypted {
			return true
		}
	}
	return entity.PrivateKey.Encrypted
}

// Encrypt is part of the library's interface; nothing is ever encrypted.
func (keys *Keys) Encrypt(context.Context, *keyservice.EncryptRequest) (*keyservice.EncryptResponse, error) {
	return nil, errUnsupported
}

// Decrypt opens a data key for the library.
func (keys *Keys) Decrypt(_ context.Context, request *keyservice.DecryptRequest) (*keyservice.DecryptResponse, error) {
	var plain []byte
	var err error
	switch request.Key.KeyType.(type) {
	case *keyservice.Key_AgeKey:
		plain, err = keys.openAge(request.Ciphertext)
	case *keyservice.Key_PgpKey:
		plain, err = keys.openPGP(request.Ciphertext)
	default:
		err = errUnsupported
	}
	return &keyservice.DecryptResponse{Plaintext: plain}, err
}

func (keys *Keys) openAge(ciphertext []byte) ([]byte, error) {
	if len(keys.identities) == 0 {
		return nil, errors.New("there is no key of age")
	}
	reader, err := age.Decrypt(agearmor.NewReader(bytes.NewReader(ciphertext)), keys.identities...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, dataKeyBytes))
}

func (keys *Keys) openPGP(ciphertext []byte) ([]byte, error) {
	if len(keys.ring) == 0 {
		return nil, errors.New("there is no key of PGP")
	}
	block, err := pgparmor.Decode(bytes.NewReader(ciphertext))
	if err != nil {
		return nil, err
	}
	message, err := openpgp.ReadMessage(block.Body, keys.ring, nil, nil)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(message.UnverifiedBody, dataKeyBytes))
}

// dataKey finds the key of the values; the library joins the parts where several groups of keys share it.
func (keys *Keys) dataKey(metadata *sops.Metadata) ([]byte, *Problem) {
	services := []keyservice.KeyServiceClient{keyservice.NewCustomLocalClient(keys)}
	key, err := metadata.GetDataKeyWithKeyServices(services, []string{"age", "pgp"})
	if err == nil {
		return key, nil
	}
	names, usable := recipients(metadata)
	if !usable {
		return nil, &Problem{Code: "unsupported", Message: "it is encrypted for no key of age or PGP", Recipients: names}
	}
	return nil, &Problem{Code: "missing", Message: "no key that the project may use opens it", Recipients: names}
}

// recipients are the public names of the keys, which stand in the file for everyone to read.
func recipients(metadata *sops.Metadata) (names []string, usable bool) {
	for _, group := range metadata.KeyGroups {
		for _, one := range group {
			kind := one.TypeToIdentifier()
			usable = usable || kind == "age" || kind == "pgp"
			if len(names) < mostRecipients {
				names = append(names, kind+" "+one.ToString())
			}
		}
	}
	return names, usable
}
