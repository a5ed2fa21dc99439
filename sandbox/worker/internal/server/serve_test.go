package server

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"plumbline.dev/sandbox/worker/internal/directory"
	"plumbline.dev/sandbox/worker/internal/jq"
	"plumbline.dev/sandbox/worker/internal/operation"
	"plumbline.dev/sandbox/worker/internal/wire"
)

// converse serves the frames that were written beforehand and gives what the worker answers.
func converse(t *testing.T, frames ...func(*wire.Link) error) []map[string]any {
	t.Helper()
	var in, out bytes.Buffer
	agent := wire.NewLink(&bytes.Buffer{}, &in)
	for _, frame := range frames {
		if err := frame(agent); err != nil {
			t.Fatal(err)
		}
	}
	_ = Serve(wire.NewLink(&in, &out))
	var answers []map[string]any
	reader := wire.NewLink(&out, io.Discard)
	for {
		var header map[string]any
		if _, err := reader.Receive(&header); err != nil {
			return answers
		}
		answers = append(answers, header)
	}
}

func frame(header any, body string) func(*wire.Link) error {
	return func(link *wire.Link) error { return link.Send(header, []byte(body)) }
}

func request(op string, params any) wire.Request {
	encoded, _ := json.Marshal(params)
	return wire.Request{ID: 7, Op: op, DeadlineMs: 10000, Params: encoded}
}

func TestAFileIsAskedForOnceAndTheAnswerCarriesTheIDOfTheRequest(t *testing.T) {
	answers := converse(t,
		frame(request("directory", directory.Params{Path: "app"}), ""),
		frame(map[string]any{"kind": "tree"}, ""),
		frame(map[string]any{"entries": []wire.Entry{{Name: "x.yaml", Kind: "blob"}}}, ""),
		frame(map[string]any{}, "kind: A"),
	)
	asked := []any{answers[0]["ask"], answers[1]["ask"], answers[2]["ask"], answers[2]["path"]}
	if asked[0] != "stat" || asked[1] != "list" || asked[2] != "read" || asked[3] != "app/x.yaml" {
		t.Errorf("asked %v", asked)
	}
	if len(answers) != 4 || answers[3]["ok"] != true || answers[3]["id"] != 7.0 {
		t.Errorf("answered %v", answers)
	}
}

func TestWhatWasForeseenIsNotAskedFor(t *testing.T) {
	asking := request("directory", directory.Params{Path: "app"})
	asking.Foreseen = 2
	answers := converse(t,
		frame(asking, ""),
		frame(wire.Foreseen{Ask: "list", Of: "app", Reply: wire.Reply{Entries: []wire.Entry{{Name: "x.yaml", Kind: "blob"}}}}, ""),
		frame(wire.Foreseen{Ask: "read", Of: "app/x.yaml"}, "kind: A"),
		frame(map[string]any{"kind": "tree"}, ""),
	)
	if len(answers) != 2 || answers[0]["ask"] != "stat" || answers[1]["ok"] != true {
		t.Errorf("said %v", answers)
	}
}

func TestWhatWasForeseenCountsForTheLimits(t *testing.T) {
	asking := request("directory", directory.Params{Path: "app"})
	asking.Foreseen, asking.Limits = 3, wire.Limits{InputBytes: 3}
	answers := converse(t,
		frame(asking, ""),
		frame(wire.Foreseen{Ask: "stat", Of: "app", Reply: wire.Reply{Stat: wire.Stat{Kind: "tree"}}}, ""),
		frame(wire.Foreseen{Ask: "list", Of: "app", Reply: wire.Reply{Entries: []wire.Entry{{Name: "x.yaml", Kind: "blob"}}}}, ""),
		frame(wire.Foreseen{Ask: "read", Of: "app/x.yaml"}, "kind: A"),
	)
	refused, _ := answers[0]["error"].(map[string]any)
	if len(answers) != 1 || refused["reason"] != string(wire.InputTooLarge) {
		t.Errorf("said %v", answers)
	}
}

func TestAPanicOfALibraryIsAnAnswer(t *testing.T) {
	operations["panic"] = func(*operation.Call) (wire.Answer, error) { panic("no") }
	defer delete(operations, "panic")
	answers := converse(t, frame(request("panic", nil), ""), frame(request("jq", jq.Params{Expression: "."}), "1"))
	if len(answers) != 2 || answers[0]["ok"] != false || answers[1]["ok"] != true {
		t.Errorf("said %v", answers)
	}
}

func TestALostWireEndsTheWork(t *testing.T) {
	answers := converse(t, frame(request("directory", directory.Params{Path: "app"}), ""))
	if len(answers) != 1 || answers[0]["ask"] != "stat" {
		t.Errorf("said %v", answers)
	}
}

func TestAFrameOverTheLimitIsRefused(t *testing.T) {
	in := bytes.NewReader([]byte{0xff, 0, 0, 0, 0, 0, 0, 0})
	if _, err := wire.NewLink(in, io.Discard).Receive(&wire.Request{}); err == nil {
		t.Error("a frame of 4 GB was announced and taken")
	}
}
