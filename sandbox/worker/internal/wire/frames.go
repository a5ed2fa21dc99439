// Package wire holds the frames between the worker and the agent: their bytes, their headers and their failures.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is: u32 length of the header, u32 length of the body (big-endian), header as JSON, body as bytes.
const (
	maxHeader = 16 << 20
	maxBody   = 256 << 20
)

// Link is the wire to the agent. It is used by one goroutine only.
type Link struct {
	in  *bufio.Reader
	out *bufio.Writer
}

// NewLink makes the link of a process to its other end.
func NewLink(in io.Reader, out io.Writer) *Link {
	return &Link{in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriterSize(out, 64<<10)}
}

// Send writes one frame.
func (l *Link) Send(header any, body []byte) error {
	encoded, err := json.Marshal(header)
	if err != nil {
		return err
	}
	var lengths [8]byte
	binary.BigEndian.PutUint32(lengths[:4], uint32(len(encoded)))
	binary.BigEndian.PutUint32(lengths[4:], uint32(len(body)))
	for _, part := range [][]byte{lengths[:], encoded, body} {
		if _, err := l.out.Write(part); err != nil {
			return err
		}
	}
	return l.out.Flush()
}

// Receive reads one frame: its header into `header`, its body as the result.
func (l *Link) Receive(header any) ([]byte, error) {
	var lengths [8]byte
	if _, err := io.ReadFull(l.in, lengths[:]); err != nil {
		return nil, err
	}
	headerSize, bodySize := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])
	if headerSize > maxHeader || bodySize > maxBody {
		return nil, fmt.Errorf("frame of %d+%d bytes is over the limit", headerSize, bodySize)
	}
	content := make([]byte, int(headerSize)+int(bodySize))
	if _, err := io.ReadFull(l.in, content); err != nil {
		return nil, err
	}
	return content[headerSize:], json.Unmarshal(content[:headerSize], header)
}
