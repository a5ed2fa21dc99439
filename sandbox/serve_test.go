package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
)

// converse serves the frames that were written beforehand and gives what the worker said.
func converse(t *testing.T, frames ...func(*Link) error) []map[string]any {
	t.Helper()
	var in, out bytes.Buffer
	agent := &Link{out: bufio.NewWriter(&in)}
	for _, frame := range frames {
		if err := frame(agent); err != nil {
			t.Fatal(err)
		}
	}
	_ = serve(&Link{in: bufio.NewReader(&in), out: bufio.NewWriter(&out)})
	var said []map[string]any
	reader := &Link{in: bufio.NewReader(&out)}
	for {
		var header map[string]any
		if _, err := reader.receive(&header); err != nil {
			return said
		}
		said = append(said, header)
	}
}

func frame(header any, body string) func(*Link) error {
	return func(link *Link) error { return link.send(header, []byte(body)) }
}

func request(op string, params any) Request {
	encoded, _ := json.Marshal(params)
	return Request{ID: 7, Op: op, DeadlineMs: 10000, Params: encoded}
}

func TestAFileIsAskedForOnceAndTheAnswerCarriesTheIDOfTheRequest(t *testing.T) {
	said := converse(t,
		frame(request("directory", directoryParams{Path: "app"}), ""),
		frame(map[string]any{"kind": "tree"}, ""),
		frame(map[string]any{"entries": []Entry{{"x.yaml", "blob"}}}, ""),
		frame(map[string]any{}, "kind: A"),
	)
	asked := []any{said[0]["ask"], said[1]["ask"], said[2]["ask"], said[2]["path"]}
	if asked[0] != "stat" || asked[1] != "list" || asked[2] != "read" || asked[3] != "app/x.yaml" {
		t.Errorf("asked %v", asked)
	}
	if len(said) != 4 || said[3]["ok"] != true || said[3]["id"] != 7.0 {
		t.Errorf("answered %v", said)
	}
}

func TestWhatWasForeseenIsNotAskedFor(t *testing.T) {
	asking := request("directory", directoryParams{Path: "app"})
	asking.Foreseen = 2
	said := converse(t,
		frame(asking, ""),
		frame(foreseen{Ask: "list", Of: "app", Reply: reply{Entries: []Entry{{"x.yaml", "blob"}}}}, ""),
		frame(foreseen{Ask: "read", Of: "app/x.yaml"}, "kind: A"),
		frame(map[string]any{"kind": "tree"}, ""),
	)
	if len(said) != 2 || said[0]["ask"] != "stat" || said[1]["ok"] != true {
		t.Errorf("said %v", said)
	}
}

func TestWhatWasForeseenCountsForTheLimits(t *testing.T) {
	asking := request("directory", directoryParams{Path: "app"})
	asking.Foreseen, asking.Limits = 3, Limits{InputBytes: 3}
	said := converse(t,
		frame(asking, ""),
		frame(foreseen{Ask: "stat", Of: "app", Reply: reply{Stat: Stat{Kind: "tree"}}}, ""),
		frame(foreseen{Ask: "list", Of: "app", Reply: reply{Entries: []Entry{{"x.yaml", "blob"}}}}, ""),
		frame(foreseen{Ask: "read", Of: "app/x.yaml"}, "kind: A"),
	)
	refused, _ := said[0]["error"].(map[string]any)
	if len(said) != 1 || refused["reason"] != string(InputTooLarge) {
		t.Errorf("said %v", said)
	}
}

func TestAPanicOfALibraryIsAnAnswer(t *testing.T) {
	operations["panic"] = func(*Call) (Answer, error) { panic("no") }
	defer delete(operations, "panic")
	said := converse(t, frame(request("panic", nil), ""), frame(request("jq", jqParams{"."}), "1"))
	if len(said) != 2 || said[0]["ok"] != false || said[1]["ok"] != true {
		t.Errorf("said %v", said)
	}
}

func TestALostWireEndsTheWork(t *testing.T) {
	said := converse(t, frame(request("directory", directoryParams{Path: "app"}), ""))
	if len(said) != 1 || said[0]["ask"] != "stat" {
		t.Errorf("said %v", said)
	}
}

func TestAFrameOverTheLimitIsRefused(t *testing.T) {
	in := bytes.NewReader([]byte{0xff, 0, 0, 0, 0, 0, 0, 0})
	if _, err := (&Link{in: bufio.NewReader(in)}).receive(&Request{}); err == nil {
		t.Error("a frame of 4 GB was announced and taken")
	}
}
