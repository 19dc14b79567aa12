-- A person's session: open a faulty file, see, ask, fix, undo. Its record goes to the file that $RECORD names.
local record = {}
local file, record_path = vim.env.FAULTY, vim.env.RECORD

local function finish()
  local out = io.open(record_path, "w")
  out:write(vim.fn.json_encode(record))
  out:close()
  vim.cmd("qall!")
end

local function seen()
  return vim.tbl_map(function(item)
    return { code = item.code, line = item.lnum, column = item.col, message = item.message }
  end, vim.diagnostic.get(0))
end

local function wait(condition)
  return vim.wait(20000, condition, 5)
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

local ok, problem = pcall(function()
  vim.cmd("edit " .. file)
  local client = vim.lsp.start_client({
    name = "stablelint",
    cmd = { vim.env.STABLELINT_PYTHON, "-m", "stablelint", "server" },
    root_dir = vim.fn.fnamemodify(file, ":h"),
  })
  vim.lsp.buf_attach_client(0, client)
  assert(wait(function() return #vim.diagnostic.get(0) > 0 end), "no diagnostics")
  record.opened = seen()

  vim.api.nvim_win_set_cursor(0, { 7, 23 })
  local asked = vim.lsp.util.make_position_params(0, "utf-16")
  local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", asked, 20000)
  record.hover = answers[client].result.contents.value

  local range = { start = asked.position, ["end"] = asked.position }
  local params = { textDocument = asked.textDocument, range = range, context = { diagnostics = {} } }
  local offered = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 20000)[client].result
  record.titles = vim.tbl_map(function(action) return action.title end, offered)
  vim.lsp.util.apply_workspace_edit(offered[1].edit, "utf-16")
  assert(wait(function() return #vim.diagnostic.get(0) == 0 end), "the fix leaves the finding")
  record.fixed = text()

  vim.cmd("undo")
  assert(wait(function() return #vim.diagnostic.get(0) > 0 end), "undo does not bring the finding back")
  record.undone = text()
  record.again = seen()
end)
if not ok then record.problem = tostring(problem) end
finish()
