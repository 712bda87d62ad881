'use strict';
{
  const part = document.getElementById('upload'), chosen = part.querySelector('input'), told = part.querySelector('output');
  const here = decodeURIComponent(location.pathname);
  part.hidden = !part.dataset.paths.split(' ').some(path => path && here.startsWith(decodeURIComponent(path)));
  const failed = (file, why) => { told.textContent = file.name + ': ' + why; chosen.value = ''; };
  chosen.addEventListener('change', async () => {
    for (const [i, file] of [...chosen.files].entries()) {
      told.textContent = 'uploading ' + file.name + ' (' + (i + 1) + ' of ' + chosen.files.length + ')';
      try {
        const response = await fetch('./' + encodeURIComponent(file.name), { method: 'PUT', body: file });
        if (!response.ok) return failed(file, (await response.text()).trim());
      } catch {
        return failed(file, 'the connection was lost');
      }
    }
    location.reload();
  });
}
