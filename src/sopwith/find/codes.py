"""The codes of what may be wrong with an index, with a short title. `docs/diagnostics.md` explains each."""

from __future__ import annotations

from sopwith.errors import Text

FIND_CODES: dict[str, Text] = {
    "SW820": Text("an index of another version", "索引版本不同"),
    "SW821": Text("an index that is damaged", "索引已损坏"),
    "SW830": Text("a document that cannot be read", "无法读取的文档"),
    "SW831": Text("a document without text", "没有文本的文档"),
    "SW832": Text("a document with a password", "有密码的文档"),
    "SW833": Text("a document in another encoding", "文档的编码不同"),
    "SW834": Text("a document that is too large", "过大的文档"),
    "SW835": Text("a link out of the folder of documents", "指向文档文件夹之外的链接"),
    "SW836": Text("nothing that reads a document is installed", "未安装读取文档的组件"),
}
