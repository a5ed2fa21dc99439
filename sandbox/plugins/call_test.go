package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"plumbline.dev/plugins/pluginapi"
)

// hostile answers what its functions say.
type hostile struct {
	pluginapi.UnimplementedConfigManagementPluginServiceServer
	generate func(grpc.ClientStreamingServer[pluginapi.AppStreamRequest, pluginapi.ManifestResponse]) error
}

func (h hostile) GenerateManifest(stream grpc.ClientStreamingServer[pluginapi.AppStreamRequest, pluginapi.ManifestResponse]) error {
	return h.generate(stream)
}

func serve(t *testing.T, plugin hostile) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pluginapi.RegisterConfigManagementPluginServiceServer(server, plugin)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return socket
}

func drain(stream grpc.ClientStreamingServer[pluginapi.AppStreamRequest, pluginapi.ManifestResponse]) (files []byte, first *pluginapi.AppStreamRequest) {
	first, _ = stream.Recv()
	for {
		part, err := stream.Recv()
		if err != nil {
			return files, first
		}
		files = append(files, part.GetFile().GetChunk()...)
	}
}

func generate(socket string, archive io.Reader, limit int) (Answer, []string) {
	request := Request{Call: "generate", Socket: socket, Path: "app", Env: []EnvEntry{{"A", "b"}}, AnswerBytes: limit}
	return ask(context.Background(), request, archive)
}

func TestTheArchiveArrivesWholeAfterItsMetadata(t *testing.T) {
	var files []byte
	var first *pluginapi.AppStreamRequest
	socket := serve(t, hostile{generate: func(stream grpc.ClientStreamingServer[pluginapi.AppStreamRequest, pluginapi.ManifestResponse]) error {
		files, first = drain(stream)
		return stream.SendAndClose(&pluginapi.ManifestResponse{Manifests: []string{"a: 1", "b: 2"}})
	}})
	sent := bytes.Repeat([]byte("x"), 3*chunkBytes+1)
	answer, manifests := generate(socket, bytes.NewReader(sent), 1<<20)
	if answer.Error != nil || strings.Join(manifests, ";") != "a: 1;b: 2" {
		t.Fatal(answer.Error, manifests)
	}
	if !bytes.Equal(files, sent) || first.GetMetadata().GetAppRelPath() != "app" || first.GetMetadata().GetEnv()[0].GetName() != "A" {
		t.Fatal(len(files), first)
	}
}

func TestAnAnswerAboveTheLimitIsRefused(t *testing.T) {
	socket := serve(t, hostile{generate: func(stream grpc.ClientStreamingServer[pluginapi.AppStreamRequest, pluginapi.ManifestResponse]) error {
		drain(stream)
		return stream.SendAndClose(&pluginapi.ManifestResponse{Manifests: []string{strings.Repeat("x", 2<<20)}})
	}})
	answer, _ := generate(socket, strings.NewReader(""), 1<<20)
	if answer.Error == nil || answer.Error.Code != "ResourceExhausted" {
		t.Fatal(answer.Error)
	}
}

func TestAPluginThatTakesNoFilesHasAReason(t *testing.T) {
	socket := serve(t, hostile{generate: func(grpc.ClientStreamingServer[pluginapi.AppStreamRequest, pluginapi.ManifestResponse]) error {
		return io.ErrUnexpectedEOF
	}})
	answer, _ := generate(socket, bytes.NewReader(make([]byte, 64<<20)), 1<<20)
	if answer.Error == nil || answer.Error.Code != "Unknown" || answer.Error.Message != "unexpected EOF" {
		t.Fatal(answer.Error)
	}
}

func TestASocketThatIsNotThereIsUnavailable(t *testing.T) {
	answer, _ := generate(filepath.Join(t.TempDir(), "s"), strings.NewReader(""), 1<<20)
	if answer.Error == nil || answer.Error.Code != "Unavailable" {
		t.Fatal(answer.Error)
	}
}

func TestARequestWithAnUnknownFieldIsRefused(t *testing.T) {
	if run(strings.NewReader(`{"call": "check", "more": 1}`), io.Discard) == nil {
		t.Fatal("accepted")
	}
}

func TestTheAnswerIsALineBeforeTheManifests(t *testing.T) {
	var output bytes.Buffer
	if err := write(&output, Answer{Supported: true}, []string{"a: 1", "b: 2"}); err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(output.String(), "\n")
	var answer Answer
	if json.Unmarshal([]byte(line), &answer) != nil || !answer.Supported || rest != "a: 1\n---\nb: 2" {
		t.Fatal(line, rest)
	}
}
