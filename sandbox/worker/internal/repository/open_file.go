package repository

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

// OpenFile is a file in memory, and what os.FileInfo wants to know about it.
type OpenFile struct {
	io.Reader
	name string
	size int
}

// NewOpenFile opens a file that was read already.
func NewOpenFile(name string, content []byte) *OpenFile {
	return &OpenFile{Reader: bytes.NewReader(content), name: name, size: len(content)}
}

// ReadOnly is the error of everything that would write.
func ReadOnly(name string) error { return fmt.Errorf("%s: the repository is read only", name) }

func (f *OpenFile) Write([]byte) (int, error)  { return 0, ReadOnly(f.name) }
func (f *OpenFile) Close() error               { return nil }
func (f *OpenFile) Stat() (os.FileInfo, error) { return f, nil }
func (f *OpenFile) Name() string               { return f.name }
func (f *OpenFile) Size() int64                { return int64(f.size) }
func (f *OpenFile) Mode() os.FileMode          { return 0o444 }
func (f *OpenFile) ModTime() time.Time         { return time.Time{} }
func (f *OpenFile) IsDir() bool                { return false }
func (f *OpenFile) Sys() any                   { return nil }
